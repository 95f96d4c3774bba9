"""The cues of the ready-made recognisers, and the views and mirroring that are tried on them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import make_actions, standard_cues
from kerneton.prepare.poses import mirror, turn
from kerneton.recognize.presets import VIEWS, variants
from kerneton.recognize.search import with_parameters


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap"], n_subjects=2, n_takes=1)


def features(cue, train, test, **parameters):
    cue = with_parameters(cue, {"kernel__weighting": None, "scale": None, **parameters})
    return cue.fit(train).transform(test)


def test_small_enough_for_the_fast_solver():
    """Eigenvalues of matrices up to 32 wide are several times faster than of larger ones."""
    for cue in standard_cues().values():
        kernel = cue.kernel
        assert 3 * sum(kernel.n_pivots_joint) + kernel.n_pivots_time <= 32
        assert_allclose(1 - sum(kernel.joint_weight), 0.25)  # what time has


@pytest.mark.parametrize("order", [2, 3])
def test_order(order):
    assert {cue.kernel.order for cue in standard_cues(order=order).values()} == {order}


@pytest.mark.parametrize("name", standard_cues())
def test_single_precision_and_weights_from_labels(data, name):
    cue = standard_cues(order=2)[name]
    out = cue.fit_transform(data, data.labels)
    assert out.dtype == np.float32
    assert_allclose(cue.kernel_.weights_.mean(), 1)


@pytest.mark.parametrize("name", standard_cues())
def test_free_view_does_not_mind_where_people_stand(data, name):
    turned = [s.replace(joints=turn(s.joints, 0.9)) for s in data]
    cue = standard_cues(order=2)[name]
    free = [features(cue, data, X, **VIEWS["free"]) for X in (data, turned)]
    assert_allclose(free[1], free[0], atol=1e-3 * np.abs(free[0]).max())
    fixed = [features(cue, data, X, **VIEWS["fixed"]) for X in (data, turned)]
    moved = np.abs(fixed[1] - fixed[0]).max() > 0.01 * np.abs(fixed[0]).max()
    assert moved == (not name.endswith("_front"))


@pytest.mark.parametrize("name", standard_cues())
def test_mirrored_cue_does_not_tell_an_action_from_its_mirror_image(data, name):
    images = [mirror(s) for s in data]
    cue = standard_cues(order=2)[name]
    # Powers of zero eigenvalues are noise of 1e-5, and a reference skeleton of few people is not
    # quite symmetric.
    exact = {"preprocess__bones": None, "preprocess__dtype": "float64"}
    same = [features(cue, data, X, kernel__mirror=True, **exact) for X in (data, images)]
    assert_allclose(same[1], same[0], atol=1e-4 * np.abs(same[0]).max())
    other = [features(cue, data, X, kernel__mirror=False, **exact) for X in (data, images)]
    assert np.abs(other[1] - other[0]).max() > 0.01 * np.abs(other[0]).max()


def test_variants():
    sides = ["", ", mirrored", ", partly mirrored"]
    assert list(variants("auto", "auto")) == [
        view + side for view in ("free", "fixed") for side in sides
    ]
    assert variants("fixed", True) == {"fixed, mirrored": {"kernel__mirror": True}}
    assert variants("free", False) == {
        "free": {"preprocess__facing": "sequence", "kernel__mirror": False},
    }
