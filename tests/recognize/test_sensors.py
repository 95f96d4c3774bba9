"""Recordings of another sensor: frame rates that cannot be compared, and features centred on new
recordings.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from recognizers import sck, single

from kerneton import load, make_actions
from kerneton.exceptions import DataError
from kerneton.recognize.sensors import centred_on


@pytest.fixture(scope="module")
def actions():
    return make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)


@pytest.fixture(scope="module")
def model(actions):
    kernel = sck(order=2, signals=("position", "velocity"))
    return single(kernel).fit(actions, actions.labels)


def test_a_recording_without_a_rate_becomes_as_fast_as_the_training(model, actions, tmp_path):
    untimed = [s.replace(fps=None) for s in actions]
    adapted = load(model.save(tmp_path / "m.kern")).adapt(untimed)
    rates = np.array([s.fps for s in adapted])
    assert ((rates > 5) & (rates < 200)).all()  # 30 in truth; per frame it would have been 1
    plain, paced = (model.decision_function(x) for x in (untimed, adapted))
    truth = model.decision_function(actions)
    assert np.abs(paced - truth).mean() < np.abs(plain - truth).mean()


def test_rates_that_are_known_stay(model, actions):
    assert [s.fps for s in model.adapt(actions)] == [s.fps for s in actions]
    untimed = [s.replace(fps=None) for s in actions]
    other = single(sck(order=2, signals=("position", "velocity"))).fit(untimed, actions.labels)
    assert [s.fps for s in other.adapt(untimed)] == [None] * len(untimed)
    # as fast in a frame as the training recordings
    assert all(0 < s.fps < 10 for s in other.adapt(actions))
    mixed = [s.replace(fps=None) if i % 2 else s for i, s in enumerate(actions)]
    some = single(sck(order=2)).fit(mixed, actions.labels)
    assert [s.fps for s in some.adapt(mixed)] == [s.fps for s in mixed]


def test_a_recording_that_stands_still_has_no_pace(model, actions):
    still = actions[0].replace(
        joints=np.repeat(actions[0].joints[:1], 5, axis=0), confidence=None, fps=None
    )
    assert model.adapt([still])[0].fps is None


def test_centred_on_other_recordings(model, actions):
    shifted = [s.replace(joints=s.joints * [1.0, 1.1, 0.9]) for s in actions]
    moved = centred_on(model, shifted)
    (branch,) = moved.branches_.values()
    features = branch.kernel_.transform(branch.preprocess_.transform(shifted))
    assert_allclose(branch.scale_.mean_, features.mean(axis=0), atol=1e-6)
    assert_array_equal(centred_on(model, actions).predict(actions), model.predict(actions))
    assert not np.allclose(next(iter(model.branches_.values())).scale_.mean_, branch.scale_.mean_)
    with pytest.raises(DataError, match="one recording"):
        centred_on(model, shifted[:1])
