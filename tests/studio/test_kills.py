"""Kills at any moment: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, to be killed at once")
def test_some_kills(tmp_path):
    """``python tests/studio_kills.py 481`` kills 481 times."""
    from studio_kills import kill

    assert kill(range(20), tmp_path) > 20
