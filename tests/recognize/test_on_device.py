"""Branches encoded many recordings at a time, by torch: on the CPU here, with torch's own operations."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton import make_recognizer
from kerneton.experiments.bench.scale import labelled

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def recordings():
    return [s for s in labelled(80) if s.label in ("class 0", "class 1")]


@pytest.mark.parametrize(("view", "mirror"), [("free", True), ("fixed", False)])
def test_features_are_those_of_the_cpu(recordings, view, mirror):
    labels = [s.label for s in recordings]
    model = make_recognizer(view=view, mirror=mirror).fit(recordings, labels)
    expected, decisions = model.features(recordings), model.decision_function(recordings)
    model.set_params(device="cpu")
    assert np.linalg.norm(model.features(recordings) - expected, axis=1).max() < 1e-4
    np.testing.assert_allclose(model.decision_function(recordings), decisions, atol=1e-3)


def test_gaps_are_filled_as_before(recordings):
    model = make_recognizer(view="free", mirror=True).fit(recordings, [s.label for s in recordings])
    torn = recordings[0].joints.copy()
    torn[3, 5] = np.nan
    asked = [recordings[0].replace(joints=torn), recordings[1]]
    expected = model.features(asked)
    found = model.set_params(device="cpu").features(asked)
    assert np.linalg.norm(found - expected, axis=1).max() < 1e-4
