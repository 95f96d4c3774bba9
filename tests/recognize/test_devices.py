"""Where kernels run changes no label: every preset, orders 2 and 3, mirrored and not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton import make_actions, make_recognizer

torch = pytest.importorskip("torch")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "bow"], n_subjects=2, n_takes=1, fps=10)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("preset", [None, "tensor", "auto", "paper"])
def test_labels_equal_those_of_the_cpu(data, preset, mirror, device):
    options = {} if preset == "paper" else {"view": "free", "mirror": mirror}
    fewer = {}
    if preset == "tensor":  # of order 3, whose cost on a CPU grows with the cube of the pivots
        names = [name for name, _ in make_recognizer(preset).branches]
        fewer = {f"{name}__kernel__n_pivots_joint": 3 for name in names}
    if preset == "paper" and mirror:
        pytest.skip("the paper's recogniser does not mirror")
    expected = make_recognizer(preset, **options).set_params(**fewer).fit(data, data.labels)
    model = (
        make_recognizer(preset, device=device, **options).set_params(**fewer).fit(data, data.labels)
    )
    assert {branch.kernel_.device for branch in model.branches_.values()} == {device}
    assert_allclose(model.decision_function(data), expected.decision_function(data), atol=5e-3)
    assert np.array_equal(model.predict(data), expected.predict(data))


def test_a_fitted_model_moves(data):
    model = make_recognizer(kernel="sck").fit(data, data.labels)
    before = model.decision_function(data)
    moved = model.set_params(device="cpu").decision_function(data)
    assert {branch.kernel_.device for branch in model.branches_.values()} == {"cpu"}
    assert_allclose(moved, before, atol=5e-3)
