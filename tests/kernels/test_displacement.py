"""Sums over pairs of frames: as they are written, and by harmonics, within the tolerance asked for.

The error of a harmonic sum is held against what the sum would be if every Gaussian were at its
peak.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from walks import walks

from kerneton.exceptions import DataError
from kerneton.kernels.displacement import (
    MAX_HARMONICS,
    direct_sums,
    harmonic_sums,
    plan_harmonics,
    span_window,
)
from kerneton.kernels.tensors import gaussian_features, pivot_scale

PAIRS = np.array([[0, 1], [1, 1], [3, 2]])


def batch(n_frames, n_joints=4, *, n=2, n_times=3, dtype=np.float64):
    x = np.stack(walks((n_frames,) * n, n_joints))
    time = np.tile(np.arange(1, n_frames + 1) / n_frames, (n, 1))
    z = gaussian_features(time, sigma=0.4, n_pivots=n_times, low=0, high=1)
    return x.astype(dtype), z.astype(dtype)


def peak(z, sigma_span, *, sigma, n_pivots, reach):
    """The sums with every φ at its largest, (B, 1, 1, Z₃, Z₃)."""
    z = z.astype(float)
    ends = z.swapaxes(1, 2) @ (span_window(z.shape[1], sigma_span) @ z)
    return pivot_scale(n_pivots, -reach, reach, sigma) * ends[:, None, None]


def assert_within(answer, expected, bound, tol):
    assert answer.shape == expected.shape
    assert np.all(np.abs(answer - expected) <= tol * bound)


def extent_of(x):
    return float(x.max() - x.min())


@pytest.mark.parametrize("sigma_span", [None, 1.5])
@pytest.mark.parametrize("reach", [1.0, 1.7])
def test_direct_sums_term_by_term(sigma_span, reach):
    x, z = batch(4)
    sigma, n_pivots = 0.5, 3
    answer = direct_sums(
        x, z, PAIRS, sigma=sigma, n_pivots=n_pivots, sigma_span=sigma_span, reach=reach
    )
    expected = np.zeros((2, 3, 9, 3, 3))
    for s, t in itertools.permutations(range(4), 2):
        window = 1.0 if sigma_span is None else math.exp(-((s - t) ** 2) / (2 * sigma_span**2))
        for p, (i, k) in enumerate(PAIRS):
            step = x[:, s, i] - x[:, t, k]
            phi = gaussian_features(step, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
            expected[:, p] += window * np.einsum(
                "bz,bp,bq->bzpq", phi.reshape(2, 9), z[:, s], z[:, t]
            )
    assert_allclose(answer, expected, rtol=1e-12)


@pytest.mark.parametrize("n_frames", [1, 2, 3, 50, 200])
@pytest.mark.parametrize("sigma_span", [None, 0.5, 4.0, 60.0])
@pytest.mark.parametrize(
    ("dtype", "tol"),
    [(np.float64, 1e-5), (np.float64, 1e-10), (np.float32, 1e-5), (np.float32, 1e-3)],
)
def test_harmonics_equal_the_direct_sum(n_frames, sigma_span, dtype, tol):
    x, z = batch(n_frames, dtype=dtype)
    same = {"sigma": 0.6, "n_pivots": 5, "sigma_span": sigma_span}
    answer = harmonic_sums(x, z, PAIRS, extent=extent_of(x), tol=tol, **same)
    assert answer.dtype == dtype
    expected = direct_sums(x.astype(float), z.astype(float), PAIRS, **same)
    assert_within(answer, expected, peak(z, sigma_span, sigma=0.6, n_pivots=5, reach=1), tol)
    if n_frames == 1:
        assert_allclose(answer, 0, atol=0)


@pytest.mark.parametrize("sigma", [0.1, 0.3, 2.0])
@pytest.mark.parametrize("reach", [1.0, 3.4])
@pytest.mark.parametrize("n_pivots", [1, 6])
def test_widths_and_pivots(sigma, reach, n_pivots):
    x, z = batch(30)
    same = {"sigma": sigma, "n_pivots": n_pivots, "sigma_span": 5.0, "reach": reach}
    answer = harmonic_sums(x, z, PAIRS, extent=extent_of(x), tol=1e-8, **same)
    bound = peak(z, 5.0, sigma=sigma, n_pivots=n_pivots, reach=reach)
    assert_within(answer, direct_sums(x, z, PAIRS, **same), bound, 1e-8)


def test_two_thousand_frames():
    """Against the plain sum taken a hundred frames at a time, with and without the window."""
    n_frames, sigma, n_pivots = 2000, 0.6, 3
    x, z = batch(n_frames, 2, n=1, n_times=2)
    spans = [None, 3.0, 300.0]
    expected = dict.fromkeys(spans, 0.0)
    for start in range(0, n_frames, 100):
        part = slice(start, start + 100)
        steps = x[0, part, None, 0] - x[0, None, :, 1]
        phi = gaussian_features(steps, sigma=sigma, n_pivots=n_pivots).reshape(100 * n_frames, -1)
        gap = np.arange(start, start + 100)[:, None] - np.arange(n_frames)
        for span in spans:
            weight = (gap != 0) * (1.0 if span is None else np.exp(-(gap**2) / (2 * span**2)))
            ends = z[0, part, None, :, None] * z[0, None, :, None, :] * weight[:, :, None, None]
            expected[span] += (phi.T @ ends.reshape(100 * n_frames, -1)).reshape(-1, 2, 2)
    for dtype, span in itertools.product((np.float32, np.float64), spans):
        answer = harmonic_sums(
            x.astype(dtype),
            z.astype(dtype),
            np.array([[0, 1]]),
            sigma=sigma,
            n_pivots=n_pivots,
            sigma_span=span,
            extent=extent_of(x),
            tol=1e-5,
        )
        bound = peak(z, span, sigma=sigma, n_pivots=n_pivots, reach=1)[0]
        assert_within(answer[0, 0], expected[span], bound[0], 1e-5)


def test_on_real_recordings(data_home):
    from kerneton.datasets import load_florence3d, load_utkinect

    for data in (load_florence3d(data_home), load_utkinect(data_home)):
        recording = max(data[::20], key=lambda s: s.n_frames)
        x = recording.joints[None, :, [3, 5, 9, 12]]
        x = x - x.mean(axis=(1, 2), keepdims=True)
        time = np.arange(1, x.shape[1] + 1)[None] / x.shape[1]
        z = gaussian_features(time, sigma=0.25, n_pivots=6, low=0, high=1)
        for span in (None, 3.0):
            same = {"sigma": 0.3, "n_pivots": 5, "sigma_span": span}
            expected = direct_sums(x, z, PAIRS, **same)
            answer = harmonic_sums(x, z, PAIRS, extent=extent_of(x), tol=1e-5, **same)
            assert_within(answer, expected, peak(z, span, sigma=0.3, n_pivots=5, reach=1), 1e-5)
            assert np.linalg.norm(answer - expected) < 1e-5 * np.linalg.norm(expected)


def test_padding_adds_nothing():
    x, z = batch(12)
    wide_x, wide_z = np.zeros((2, 20, 4, 3)), np.zeros((2, 20, 3))
    wide_x[:, :12], wide_z[:, :12] = x, z
    for span in (None, 2.0):
        same = {"sigma": 0.6, "n_pivots": 5, "sigma_span": span}
        assert_allclose(
            direct_sums(wide_x, wide_z, PAIRS, **same), direct_sums(x, z, PAIRS, **same), rtol=1e-12
        )
        assert_allclose(
            harmonic_sums(wide_x, wide_z, PAIRS, extent=3.0, **same),
            harmonic_sums(x, z, PAIRS, extent=3.0, **same),
            rtol=1e-10,
        )


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("extent", [0.25, 1.5, 6.0])
@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-12])
def test_plan(sigma, extent, tol):
    """The series of one Gaussian stays within the tolerance for every displacement, up to the
    extent's ends.
    """
    period, n_harmonics = plan_harmonics(extent, sigma, tol)
    omega = 2 * math.pi / period
    u = np.linspace(-extent - 1, extent + 1, 501)
    k = np.arange(1, n_harmonics + 1)
    g0 = sigma * math.sqrt(math.pi) / period
    series = g0 + 2 * g0 * np.exp(-((omega * k * sigma) ** 2) / 4) @ np.cos(omega * np.outer(k, u))
    assert np.abs(series - np.exp(-(u**2) / sigma**2)).max() <= tol


def test_number_of_harmonics_grows_as_it_should():
    few, many = plan_harmonics(1.0, 0.6, 1e-3)[1], plan_harmonics(1.0, 0.6, 1e-9)[1]
    assert few < many < 3 * few
    assert plan_harmonics(1.0, 0.06, 1e-5)[1] > 4 * plan_harmonics(1.0, 0.6, 1e-5)[1]
    with pytest.raises(
        DataError, match=rf"up to 1800 .* \(at most {MAX_HARMONICS}\): .* millimetres\?"
    ):
        plan_harmonics(1800.0, 0.6, 1e-5)


def test_span_window():
    window = span_window(4, 2.0)
    assert_allclose(np.diag(window), 0)
    assert_allclose(window, window.T)
    assert_allclose(window[0, 1:], np.exp([-1 / 8, -4 / 8, -9 / 8]))
    assert_allclose(span_window(3, None), 1 - np.eye(3))
    assert_allclose(span_window(1, 2.0), [[0]])


def test_wide_recordings():
    """Factors of Gaussians would leave the range of numbers."""
    x, z = batch(12)
    same = {"sigma": 0.3, "n_pivots": 5, "sigma_span": 3.0}
    answer = harmonic_sums(8 * x, z, PAIRS, extent=extent_of(8 * x), **same)
    expected = direct_sums(8 * x, z, PAIRS, **same)
    assert_within(answer, expected, peak(z, 3.0, sigma=0.3, n_pivots=5, reach=1), 1e-5)
