"""SCK of order 2 by the core: equal to the formula, and the same in any company."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from walks import walks

from kerneton import SCK
from kerneton.core.sck import Vectors
from kerneton.kernels import sck
from kerneton.kernels.signals import SIGNALS

TWO = {
    "signals": ("position", "velocity"),
    "sigma_joint": (0.5, 0.7),
    "n_pivots_joint": (5, 4),
    "joint_weight": (0.4, 0.35),
    "sigma_time": 0.3,
    "n_pivots_time": 5,
}
KERNELS = {
    "default": {},
    "two signals": TWO,
    "small power": {**TWO, "power": 0.1},
    "square root": {**TWO, "power": 0.5},
    "pivots beyond the interval": {"pivot_margin": 2.0, "n_pivots_joint": 9},
    "narrow pivots": {"sigma_joint": 0.02, "n_pivots_joint": 4},
    "one pivot a coordinate": {"n_pivots_joint": 1, "n_pivots_time": 3},
    "no time": {"joint_weight": 1.0},
    "pairs": {**TWO, "pairs": True, "joints": [0, 2, 3]},
    "many pivots": {"n_pivots_joint": 20, "n_pivots_time": 7},
    "few pivots": {"n_pivots_joint": 1, "n_pivots_time": 1},
    "no power": {**TWO, "power": 1.0},
    "beyond the core": {"n_pivots_joint": 42, "n_pivots_time": 3},
}
LENGTHS = (7, 1, 30, 12, 7, 2, 170, 13, 9, 30, 5)


def by_formula(x, kernel, scales):
    """Features of one recording, (n_entries · J), from the formulas alone, in float64."""
    names = (kernel.signals,) if isinstance(kernel.signals, str) else kernel.signals

    def values(name):
        value = getattr(kernel, name)
        return value if isinstance(value, tuple) else (value,) * len(names)

    def phi(u, sigma, n, low, high):
        low, high = low - kernel.pivot_margin * sigma, high + kernel.pivot_margin * sigma
        zeta = np.linspace(low, high, n) if n > 1 else np.array([(low + high) / 2])
        c = (high - low) / max(n - 1, 1) * math.sqrt(2 / (math.pi * sigma**2))
        return math.sqrt(c) * np.exp(-((u - zeta) ** 2) / sigma**2)

    x = np.asarray(x)
    if kernel.pairs:
        x = np.stack(
            [x[:, i] - x[:, j] for i in kernel.joints for j in kernel.joints if i < j], axis=1
        )
    T, J = x.shape[:2]
    signals = [
        SIGNALS[name](sck.SkeletonSequence(x)).astype(np.float64) * scales[name] for name in names
    ]
    rest = max(1 - sum(values("joint_weight")), 0)
    out = []
    for j in range(J):
        A = 0.0
        for s in range(T):
            v = [
                math.sqrt(beta) * phi(signal[s, j, axis], sigma, n, -1, 1)
                for signal, sigma, n, beta in zip(
                    signals,
                    *map(values, ("sigma_joint", "n_pivots_joint", "joint_weight")),
                    strict=True,
                )
                for axis in range(3)
            ]
            v.append(
                math.sqrt(rest) * phi((s + 1) / T, kernel.sigma_time, kernel.n_pivots_time, 0, 1)
            )
            v = np.concatenate(v)
            A = A + np.outer(v, v) / (T * math.sqrt(J))
        values_, U = np.linalg.eigh(A)
        floor = 2 * math.sqrt(len(A)) * np.finfo(float).eps * np.abs(values_).max()
        A = (U * np.where(values_ > floor, values_, 0) ** kernel.power) @ U.T
        i, k = np.triu_indices(len(A))
        out.append(A[i, k] * np.where(i == k, 1, math.sqrt(2)))
    return np.concatenate(out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_equals_the_formula(name, dtype):
    X = [x.astype(dtype) for x in walks((3, 17, 40, 1), 4)]
    X[1] += dtype(3.0)  # beyond the pivots, where φ is nearly zero
    kernel = SCK(order=2, **{"power": 0.3, **KERNELS[name]}).fit(X)
    answer = kernel.transform(X)
    assert answer.dtype == dtype
    expected = np.stack([by_formula(x, kernel, kernel.scales_) for x in X])
    errors = np.linalg.norm(answer - expected, axis=1) / np.linalg.norm(expected, axis=1)
    # Eigenvalues are known to 1e-16 of the largest; the power lifts that of the smallest that
    # count.
    assert errors.max() < (2e-3 if kernel.power < 0.2 else 2e-5)


@pytest.mark.parametrize("far", [30.0, 1e3, 1e6])
def test_coordinates_far_beyond_the_pivots(far):
    """φ is zero there, as it is at another place as far away; only time counts."""
    X = walks((9, 12), 3)
    kernel = SCK(order=2, power=0.3).fit(X)
    features = kernel.transform([X[0] + far, X[0] - far, X[0] * 0 + 1e7])
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features[1:], features[[0, 0]], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_joints", [1, 5, 16, 17])
def test_the_same_to_the_bit_in_any_batch_and_thread(n_joints, dtype):
    X = [x.astype(dtype) for x in walks(LENGTHS, n_joints)]
    kernel = SCK(order=2, power=0.1, **TWO).fit(X)
    expected = np.concatenate([kernel.transform([x]) for x in X])
    for batch_size, n_jobs in [(1, 2), (3, None), (7, 3), (64, None), (64, 5)]:
        assert_array_equal(
            kernel.set_params(batch_size=batch_size, n_jobs=n_jobs).transform(X), expected
        )
    order = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(kernel.transform([X[i] for i in order]), expected[order])


def test_float32_agrees_with_float64():
    X = [x.astype(np.float32) for x in walks(LENGTHS, 5)]
    kernel = SCK(order=2, power=0.3).fit(X)
    single, double = kernel.transform(X), kernel.transform([x.astype(np.float64) for x in X])
    errors = np.linalg.norm(single - double, axis=1) / np.linalg.norm(double, axis=1)
    assert errors.max() < 1e-5


def test_what_does_not_converge_goes_to_lapack(monkeypatch):
    X = walks((9, 12, 30), 5)
    kernel = SCK(order=2).fit(X)
    expected, order2 = kernel.transform(X), Vectors.order2

    def failing(self, power, poles, first, last, out):
        failed = order2(self, power, poles, first, last, out)
        if power == 1:
            return failed
        out[:] = np.nan
        return ~failed

    monkeypatch.setattr(Vectors, "order2", failing)
    np.testing.assert_allclose(kernel.transform(X), expected, atol=1e-7)


def test_a_row_of_nan_harms_no_other():
    rng = np.random.default_rng(0)
    signals = rng.uniform(-1, 1, size=(3, 9, 20, 3))
    signals[1] = np.nan
    table = SCK(order=2).fit(walks((9,), 20))._map.table()

    def features(signals):
        B, T, J, W = signals.shape
        rows = np.stack([np.arange(J), np.full(J, -1)], axis=1)
        vectors = Vectors(
            [signals.reshape(-1, J, W)], np.arange(B) * T, np.full(B, T), rows, [1], table
        )
        return sck.order2_features(vectors, 0.3, 1)

    found = features(signals)
    assert np.isnan(found[1]).all()
    sound = features(signals[[0, 2]])
    assert np.isfinite(sound).all()
    assert_array_equal(found[[0, 2]], sound)  # whatever stands beside them
