from __future__ import annotations

import pytest

from kerneton import make_actions, make_recognizer

ACTIONS = ["wave", "kick", "bow"]


@pytest.fixture(scope="session")
def takes():
    """Four people, one long recording each."""
    return make_actions(ACTIONS, n_subjects=4, n_takes=1, uncut=True, random_state=1)


@pytest.fixture(scope="session")
def spotter(takes):
    """Trained on three of them."""
    return make_recognizer().fit_spotting(takes[:3])
