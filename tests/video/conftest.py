"""What tests of films share: a cache of their own, and a short film of a person."""

from __future__ import annotations

import pytest
from films_made import VIDEOS, part_of

from kerneton.video import models


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Poses are kept in a folder of the test; the networks stay where they are."""
    folder = models.models_folder()
    monkeypatch.setenv("KERNETON_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(models, "models_folder", lambda: folder)


@pytest.fixture
def clip(tmp_path):
    return part_of(VIDEOS / "help.mkv", tmp_path / "help.mp4", 20, 35)
