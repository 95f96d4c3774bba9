"""Models of earlier versions load, answer as before, and can be fitted again."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from kerneton import SkeletonSequence, load
from kerneton.exceptions import OutdatedWarning

MODELS = Path(__file__).parent / "models"


@pytest.fixture(scope="module")
def model():
    """Two cues with a search, alignment weights, mirroring and probabilities, written by Kerneton
    0.2.0.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(MODELS / "0.2.0.kern")


@pytest.fixture(scope="module")
def told():
    """Three generated recordings, and what 0.2.0 said of them."""
    with np.load(MODELS / "0.2.0.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def recordings(model, told):
    parts = np.split(told["joints"].astype(np.float32), told["ends"][:-1])
    return [SkeletonSequence(x, layout=model.layout_, fps=15.0) for x in parts]


def test_a_model_of_0_2_0_answers_as_then(model, told, recordings):
    assert_allclose(model.decision_function(recordings), told["decisions"], atol=1e-3)
    assert_allclose(model.predict_proba(recordings), told["probabilities"], atol=2e-3)
    assert_allclose(model.unknown_score(recordings), told["unknown"], atol=2e-3)
    assert model.predict(recordings).tolist() == told["labels"].tolist()
    assert model.training_["labels"] == {"bow": 8, "clap": 8, "wave": 8}


def test_a_model_of_0_2_0_is_written_and_fitted_again(model, told, recordings, tmp_path):
    again = load(model.save(tmp_path / "again.kern"))
    assert_allclose(
        again.decision_function(recordings), model.decision_function(recordings), atol=0
    )
    doubled = [*recordings, *(r.replace(joints=r.joints[::-1]) for r in recordings)]
    with warnings.catch_warnings():
        # the loss that its file names is not asked for
        warnings.simplefilter("error", OutdatedWarning)
        fresh = (
            clone(model)
            .set_params(calibrate=False, search=None)
            .fit(doubled, [*told["labels"]] * 2)
        )
    assert fresh.predict(recordings).tolist() == told["labels"].tolist()
