"""Ready-made recognisers on skeletons that say little about themselves."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from kerneton import make_actions, make_recognizer
from kerneton.prepare import skeleton


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=2)


def test_layouts_without_bones(caplog, data):
    """Bones are found, which is told once, and no cue is left out."""
    skeleton._tell.cache_clear()
    layout = dataclasses.replace(data[0].layout, name="dots", bones=())
    dots = [s.replace(layout=layout) for s in data]
    model = make_recognizer(view="free", mirror=False)
    with caplog.at_level(logging.WARNING):
        model.fit(dots, data.labels, groups=data.subjects)
    assert model.chosen_[0].cues == ("joints", "pairs", "pairs_force", "bones_front", "directions_front")
    assert caplog.messages == [
        "layout 'dots' has no bones; bones were found as the joints that keep their distance"
    ]
    assert model.predict(dots[:2]).shape == (2,)
