"""Torch on the CPU equals NumPy: the same classes, device="cpu"."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import assert_rows_close, people, walks

from kerneton import DCK, SCK, CenterNormalize, LinearSVM
from kerneton.kernels.displacement import direct_sums, harmonic_sums
from kerneton.kernels.tensors import gaussian_features, outer_power_sum, unique_entries
from kerneton.machine.arrays import (
    as_dtype_of,
    asarray_like,
    index_like,
    is_torch,
    namespace_of,
    to_numpy,
)

torch = pytest.importorskip("torch")

LENGTHS = (7, 1, 30, 12, 2, 180)
KERNELS = [
    SCK(),
    SCK(order=1, mirror=True),
    SCK(order=2, pairs=True, joints="D", mirror=True),
    SCK(
        entries="slices",
        signals=("position", "velocity"),
        joint_weight=0.3,
        n_pivots_joint=(3, 2),
        mirror=True,
    ),
    SCK(epn="hosvd", entry_power=0.7, n_pivots_joint=3, n_pivots_time=3),
    SCK(power=1.0),
    DCK(joints="D"),
    DCK(joints="D", mirror=True, sigma_span=3.0),
    DCK(joints="A", signals="velocity", same_joint=False, entry_power=0.6),
    DCK(joints="A", sigma_span=3.0, power=1.0),
]


def single(X):
    return [s.replace(joints=s.joints.astype(np.float32)) for s in X]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("batch_size", [2, 64])
def test_kernels(kernel, batch_size):
    X = people(LENGTHS, fps=30.0)
    expected = kernel.set_params(device=None, batch_size=32).fit_transform(X)
    answer = kernel.set_params(device="cpu", batch_size=batch_size).fit_transform(X)
    kernel.set_params(device=None)
    assert isinstance(answer, np.ndarray)
    assert answer.dtype == np.float64
    # The device sums DCK by other harmonics than the core: each is within ``tol``, which a power of
    # entries enlarges.
    tol = 1e-6
    if isinstance(kernel, DCK):
        tol = 2 * kernel.tol if kernel.entry_power == 1 else 5e-3
    assert_rows_close(answer, expected, tol)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_in_single_precision(kernel):
    X = single(people(LENGTHS, fps=30.0))
    expected = kernel.set_params(device=None, batch_size=32).fit_transform(X)
    answer = kernel.set_params(device="cpu").fit_transform(X)
    kernel.set_params(device=None)
    assert answer.dtype == expected.dtype == np.float32
    tol = 1e-5
    if kernel.power < 1 and isinstance(kernel, SCK):  # (1e-7)^0.36, on either side
        tol = 5e-3 if kernel.epn == "slices" else 5e-2
    elif kernel.entry_power < 1:
        tol = 5e-3
    assert_rows_close(answer, expected, tol)


def test_weights_are_learnt_alike():
    X, y = people((7, 9, 12, 8), fps=30.0), list("abab")
    expected = SCK(order=2, weighting="alignment").fit(X, y)
    answer = SCK(order=2, weighting="alignment", device="cpu").fit(X, y)
    assert_allclose(answer.weights_, expected.weights_, rtol=1e-6)


def test_out_takes_what_the_device_computed():
    X = walks((5, 6), 3)
    kernel = SCK(order=1, device="cpu").fit(X)
    out = np.empty((2, 63), dtype=np.float32)
    assert kernel.transform(X, out=out) is out
    assert_allclose(out, SCK(order=1).fit_transform(X), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma_span", [None, 3.0])
@pytest.mark.parametrize("n_frames", [1, 20, 200])
def test_displacement_sums(dtype, sigma_span, n_frames):
    rng = np.random.default_rng(0)
    x, z = (
        rng.uniform(-1, 1, (2, n_frames, 3, 3)).astype(dtype),
        rng.uniform(size=(2, n_frames, 4)).astype(dtype),
    )
    pairs = np.array([[0, 1], [2, 2]])
    same = {"sigma": 0.6, "n_pivots": 3, "sigma_span": sigma_span}
    for sums, extra in ((direct_sums, {}), (harmonic_sums, {"extent": 2.0})):
        expected = sums(x, z, pairs, **same, **extra)
        answer = sums(torch.as_tensor(x), torch.as_tensor(z), pairs, **same, **extra)
        assert is_torch(answer)
        tol = 1e-5 if dtype == np.float32 else 1e-12
        assert_allclose(
            answer.numpy(), expected, rtol=tol, atol=tol * max(np.abs(expected).max(), 1e-30)
        )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_parts(order):
    v = np.random.default_rng(0).uniform(size=(2, 3, 9, 4))
    T = outer_power_sum(torch.as_tensor(v), order)
    assert_allclose(T.numpy(), outer_power_sum(v, order), rtol=1e-12)
    for entries in ("simplex", "slices"):
        expected = unique_entries(outer_power_sum(v, order), order, entries)
        assert_allclose(unique_entries(T, order, entries).numpy(), expected, rtol=1e-12)
    u = np.linspace(-1, 1, 7)
    phi = gaussian_features(torch.as_tensor(u), sigma=0.5, n_pivots=4)
    assert_allclose(phi.numpy(), gaussian_features(u, sigma=0.5, n_pivots=4), rtol=1e-12)


def test_array_helpers():
    x = torch.ones(3, dtype=torch.float32)
    assert namespace_of(x) is torch
    assert namespace_of(np.ones(3)) is np
    assert asarray_like([1, 2], x).dtype == torch.float32
    assert as_dtype_of(torch.arange(2), x).dtype == torch.float32
    assert index_like([2, 0], x).dtype == torch.int64
    assert_allclose(to_numpy(x), 1)
    assert isinstance(to_numpy(x.requires_grad_()), np.ndarray)


def test_whole_recogniser():
    X, y = people((7, 9, 12, 8, 10, 6)), np.array(list("abcabc"))

    def scores(device):
        features = CenterNormalize().fit_transform(SCK(joints="A", device=device).fit_transform(X))
        return LinearSVM(C=10).fit(features, y).decision_function(features)

    assert_allclose(scores("cpu"), scores(None), atol=1e-6)


def test_threads_do_not_disturb_torch():
    """n_jobs belongs to NumPy; with a device batches follow each other."""
    X = walks(LENGTHS, 3)
    a = SCK(order=2, device="cpu", n_jobs=2, batch_size=1).fit_transform(X)
    assert_rows_close(a, SCK(order=2).fit_transform(X))
