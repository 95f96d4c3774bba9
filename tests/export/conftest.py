"""An exported module, for tests that ask it in node."""

from __future__ import annotations

from pathlib import Path

import pytest
from exported import body
from runtimes import node

from kerneton.runtime import export


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    node()
    path = tmp_path_factory.mktemp("module")
    export(body()[0], path)
    return path
