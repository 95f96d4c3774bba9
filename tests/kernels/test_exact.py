from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import walk, walks

from kerneton.data.layouts import KINECT_20, MSR_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, KernetonWarning, ParameterError
from kerneton.kernels.exact import dck_kernel, sck_kernel


def g(u, sigma):
    return math.exp(-(u**2) / (2 * sigma**2))


def g3(u, sigma, isotropic):
    parts = [g(c, sigma) for c in u]
    return math.prod(parts) if isotropic else sum(parts)


def alike(i, j, sigma):
    return g(i - j, sigma) if sigma else float(i == j)


def sck_by_hand(a, b, sigma_joint, sigma_time, joint_weight, order, sigma_index, isotropic):
    """The formula, one term at a time."""
    (M, J, _), N = a.shape, len(b)
    total = 0.0
    for i, j, s, t in itertools.product(range(J), range(J), range(M), range(N)):
        space = joint_weight * g3(a[s, i] - b[t, j], sigma_joint, isotropic)
        time = (1 - joint_weight) * g((s + 1) / M - (t + 1) / N, sigma_time)
        total += alike(i, j, sigma_index) * (space + time) ** order
    return total / (J * M * N)


def dck_by_hand(a, b, sigma_joint, sigma_time, sigma_span, sigma_index, same_joint, isotropic):
    (M, J, _), N = a.shape, len(b)
    total = 0.0
    joints = [p for p in itertools.product(range(J), repeat=2) if same_joint or p[0] != p[1]]
    frames_a = [p for p in itertools.product(range(M), repeat=2) if p[0] != p[1]]
    frames_b = [p for p in itertools.product(range(N), repeat=2) if p[0] != p[1]]
    for (i, k), (j, m), (s, u), (t, v) in itertools.product(joints, joints, frames_a, frames_b):
        weight = alike(i, j, sigma_index) * alike(k, m, sigma_index)
        if sigma_span is not None:
            weight *= g(s - u, sigma_span) * g(t - v, sigma_span)
        weight *= g((s + 1) / M - (t + 1) / N, sigma_time) * g(
            (u + 1) / M - (v + 1) / N, sigma_time
        )
        if weight:
            total += weight * g3((a[s, i] - a[u, k]) - (b[t, j] - b[v, m]), sigma_joint, isotropic)
    return total / (J**2 * M * N)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("sigma_index", [0.0, 0.8])
@pytest.mark.parametrize("isotropic", [False, True])
def test_sck_formula(order, sigma_index, isotropic):
    a, b = walks((4, 3), 3)
    options = {
        "sigma_joint": 0.4,
        "sigma_time": 0.3,
        "joint_weight": 0.7,
        "order": order,
        "sigma_index": sigma_index,
        "isotropic": isotropic,
    }
    expected = [[sck_by_hand(p, q, **options) for q in (a, b)] for p in (a, b)]
    assert_allclose(sck_kernel([a, b], **options), expected, rtol=1e-12)
    assert_allclose(
        sck_kernel([a], [b, a], **options), [[expected[0][1], expected[0][0]]], rtol=1e-12
    )


@pytest.mark.parametrize("sigma_span", [None, 1.5])
@pytest.mark.parametrize("sigma_index", [0.0, 0.8])
@pytest.mark.parametrize("same_joint", [False, True])
@pytest.mark.parametrize("isotropic", [False, True])
def test_dck_formula(sigma_span, sigma_index, same_joint, isotropic):
    a, b = walks((3, 4), 2)
    options = {
        "sigma_joint": 0.4,
        "sigma_time": 0.3,
        "sigma_span": sigma_span,
        "sigma_index": sigma_index,
        "same_joint": same_joint,
        "isotropic": isotropic,
    }
    expected = [[dck_by_hand(p, q, **options) for q in (a, b)] for p in (a, b)]
    assert_allclose(dck_kernel([a, b], **options), expected, rtol=1e-12)
    assert_allclose(dck_kernel([b], [a], **options), [[expected[1][0]]], rtol=1e-12)


def test_identical_still_recordings():
    """All Gaussians of position are 1: three coordinates sum to 3."""
    still = np.ones((1, 2, 3))
    assert_allclose(sck_kernel([still], joint_weight=0.5), [[(0.5 * 3 + 0.5) ** 3]])
    assert_allclose(sck_kernel([still], joint_weight=0.5, isotropic=True), [[1.0]])
    assert_allclose(dck_kernel([still]), [[0.0]])  # one frame has no pair of frames


def test_dck_of_one_joint():
    assert_allclose(dck_kernel([walk(4, 1)]), [[0.0]])
    assert dck_kernel([walk(4, 1)], same_joint=True)[0, 0] > 0


def test_single_precision_is_summed_in_double():
    a = walk(5, 3)
    expected = sck_kernel([a.astype(np.float32).astype(float)])
    answer = sck_kernel([a.astype(np.float32)])
    assert answer.dtype == np.float64
    assert_allclose(answer, expected, rtol=1e-14)


@pytest.mark.parametrize("kernel", [sck_kernel, dck_kernel])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sigma_joint": -0.5}, r"sigma_joint must be a positive number, got -0\.5"),
        ({"sigma_joint": 0}, "sigma_joint must be"),
        ({"sigma_time": float("nan")}, "sigma_time must be"),
        ({"sigma_index": -1.0}, r"sigma_index must be a number in \[0, inf\)"),
    ],
)
def test_parameters(kernel, parameters, message):
    with pytest.raises(ParameterError, match=message):
        kernel(walks((3, 3), 2), **parameters)


def test_own_parameters():
    X = walks((3, 3), 2)
    with pytest.raises(ParameterError, match=r"joint_weight must be a number in \[0, 1\]"):
        sck_kernel(X, joint_weight=1.5)
    for order in (0, 4, 2.5):
        with pytest.raises(ParameterError, match="order must be one of 1, 2, 3"):
            sck_kernel(X, order=order)
    with pytest.raises(ParameterError, match="sigma_span must be a positive number"):
        dck_kernel(X, sigma_span=0.0)


@pytest.mark.parametrize("kernel", [sck_kernel, dck_kernel])
def test_recordings_are_checked(kernel):
    with pytest.raises(DataError, match="has 3 joints, expected 2"):
        kernel([walk(3, 2)], [walk(3, 3)])
    with pytest.raises(DataError, match="the same 20 joints in another order"):
        kernel(
            [SkeletonSequence(walk(2, 20), layout=KINECT_20)],
            [SkeletonSequence(walk(2, 20), layout=MSR_20)],
        )
    with pytest.raises(DataError, match="is NaN"):
        kernel([np.full((2, 2, 3), np.nan)])


def test_long_computations_are_foreseen_and_shown(monkeypatch):
    x = np.random.default_rng(0).normal(size=(3, 4, 3, 3))
    seen = []

    def progress(iterable, *, total=None, desc=""):
        seen.append((total, desc))
        return iterable

    assert_allclose(dck_kernel(x, progress=progress), dck_kernel(x, x))
    sck_kernel(x[:2], x, progress=progress)
    assert seen == [(6, "dck_kernel"), (6, "sck_kernel")]
    clock = iter([0.0, 600.0])  # ten minutes for the first pair
    monkeypatch.setattr("kerneton.kernels.exact.time.perf_counter", lambda: next(clock))
    with pytest.warns(
        KernetonWarning, match=r"dck_kernel of 6 pairs of recordings takes about 60 minutes"
    ):
        dck_kernel(x)
