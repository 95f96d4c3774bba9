"""Sums over pairs of frames by the core, against the sums as they are written.

The error is held against what the sum would be if every Gaussian were at its peak.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.displacement import reference_peak, reference_sums
from walks import walk

from kerneton.core.dck import MOST_HARMONICS, Displacements

PAIRS = np.array([[0, 1], [1, 1], [3, 2]])  # the last in the other order


def times(n_frames: int, n_times: int = 3, sigma: float = 0.4) -> np.ndarray:
    s = np.arange(1, n_frames + 1)[:, None] / n_frames
    return np.exp(-((s - np.linspace(0, 1, n_times)) ** 2) / sigma**2)


def sums(x: np.ndarray, z: np.ndarray, pairs: np.ndarray = PAIRS, **options: Any) -> np.ndarray:
    """The sums of one recording, without the share 1/(J T)."""
    options = {"reach": 1.0, "tol": 1e-5, **options}
    joints = range(x.shape[1])
    displacements = Displacements(
        x, [0], [len(x)], joints, pairs, z, [0], n_axes=x.shape[2], **options
    )
    out = np.full((1, *displacements.shape), np.nan, x.dtype)
    displacements.sums(0, 1, out)
    return out[0] * x.shape[1] * len(x)


def assert_within(
    found: np.ndarray, x: np.ndarray, z: np.ndarray, tol: float, pairs: np.ndarray, **o: Any
) -> None:
    assert found.dtype == x.dtype
    assert np.all(np.abs(found - reference_sums(x, z, pairs, **o)) <= tol * reference_peak(z, **o))


@pytest.mark.parametrize("n_frames", [1, 2, 3, 8, 9, 50, 200])
@pytest.mark.parametrize("sigma_span", [None, 0.5, 1.5, 4.0, 60.0])
@pytest.mark.parametrize(
    ("dtype", "tol"),
    [(np.float64, 1e-5), (np.float64, 1e-10), (np.float32, 1e-5), (np.float32, 1e-3)],
)
def test_sums_are_within_the_tolerance(n_frames, sigma_span, dtype, tol):
    x, z = walk(n_frames, 4).astype(dtype), times(n_frames)
    same = {"sigma": 0.6, "n_pivots": 5, "sigma_span": sigma_span}
    found = sums(x, z, tol=tol, **same)
    assert_within(found, x, z, tol, PAIRS, **same)
    if n_frames == 1:
        assert (found == 0).all()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 120),
    st.integers(1, 12),
    st.integers(2, 3),
    st.integers(1, 9),
    st.integers(1, 8),
    st.floats(0.1, 2.0),
    st.sampled_from([None, 0.5, 3.0, 30.0]),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 99),
)
def test_any_sizes_and_widths(
    n_frames, n_joints, n_axes, n_pivots, n_times, sigma, sigma_span, dtype, seed
):
    x = np.random.default_rng(seed).uniform(-1, 1, (n_frames, n_joints, n_axes)).astype(dtype)
    z = times(n_frames, n_times)
    pairs = np.array(list(itertools.combinations_with_replacement(range(n_joints), 2)))
    same = {"sigma": sigma, "n_pivots": n_pivots, "sigma_span": sigma_span}
    found = sums(x, z, pairs, **same)
    whole = np.zeros((n_frames, n_joints, 3), dtype)
    whole[:, :, :n_axes] = x
    expected = reference_sums(whole, z, pairs, **same)[:, : n_axes * n_pivots]
    assert np.all(np.abs(found - expected) <= 1e-5 * reference_peak(z, **same))


@pytest.mark.parametrize("sigma", [0.1, 0.3, 2.0])
@pytest.mark.parametrize("reach", [1.0, 3.4])
@pytest.mark.parametrize("n_pivots", [1, 6])
@pytest.mark.parametrize("stretch", [1.0, 2.5])
def test_widths_and_pivots(sigma, reach, n_pivots, stretch):
    x, z = stretch * walk(30, 4), times(30)
    same = {"sigma": sigma, "n_pivots": n_pivots, "sigma_span": 5.0, "reach": reach}
    assert_within(sums(x, z, tol=1e-8, **same), x, z, 1e-8, PAIRS, **same)


@pytest.mark.parametrize("sigma_span", [0.02, 0.1, 0.2, 0.3, 1.0])
def test_spans_shorter_than_a_frame(sigma_span):
    """Terms of one frame with itself are up to 1e11 times as large as those of two frames, and
    cancel.
    """
    x, z = walk(20, 4), times(20)
    same = {"sigma": 0.6, "n_pivots": 5, "sigma_span": sigma_span}
    found, expected = sums(x, z, tol=1e-6, **same), reference_sums(x, z, PAIRS, **same)
    assert np.all(np.abs(found - expected) <= 1e-5 * reference_peak(z, **same) + 1e-300)


def test_five_thousand_frames():
    x, z = walk(5000, 2), times(5000, 2)
    pair = np.array([[0, 1]])
    for span in (3.0, None):
        expected = 0.0
        zeta, height = np.linspace(-1, 1, 3), np.sqrt(np.sqrt(2 / np.pi) / 0.6)
        for start in range(0, 5000, 100):
            part = slice(start, start + 100)
            phi = height * np.exp(
                -((x[part, None, 0, :, None] - x[None, :, 1, :, None] - zeta) ** 2) / 0.36
            )
            gap = np.arange(start, start + 100)[:, None] - np.arange(5000)
            weight = (gap != 0) * (1.0 if span is None else np.exp(-(gap**2) / (2 * span**2)))
            ends = (
                z[part, None, :, None] * z[None, :, None, :] * weight[:, :, None, None]
            ).reshape(-1, 4)
            expected = expected + (phi.reshape(len(ends), -1).T @ ends).reshape(-1, 2, 2)
        same = {"sigma": 0.6, "n_pivots": 3, "sigma_span": span}
        peak = height * 5000**2 if span is None else height * 5000 * span * np.sqrt(2 * np.pi)
        for dtype in (np.float32, np.float64):
            found = sums(x.astype(dtype), z, pair, **same)[0]
            assert np.abs(found - expected).max() <= 1e-5 * peak


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma_span", [None, 4.0])
def test_no_recording_depends_on_others(sigma_span, dtype):
    """Side by side, in any order, with other joints and columns in between: the same to the bit."""
    lengths, rng = np.array([7, 30, 1, 18]), np.random.default_rng(3)
    starts = np.cumsum(lengths) - lengths
    frames = rng.uniform(-1, 1, (lengths.sum(), 6, 9)).astype(dtype)
    joints = [4, 0, 5]
    pairs = np.array(list(itertools.combinations_with_replacement(range(3), 2)))
    options: dict[str, Any] = {
        "sigma": 0.6,
        "n_pivots": 5,
        "reach": 1.0,
        "sigma_span": sigma_span,
        "tol": 1e-5,
    }
    z = np.concatenate([times(n) for n in lengths])
    order = np.array([2, 0, 3, 1])
    together = Displacements(
        frames[:, :, 3:], starts[order], lengths[order], joints, pairs, z, starts[order], **options
    )
    out = np.empty((4, *together.shape), dtype)
    together.sums(0, 3, out[:3])
    together.sums(3, 4, out[3:])
    for b, i in enumerate(order):
        x = np.ascontiguousarray(frames[starts[i] : starts[i] + lengths[i], joints, 3:6])
        alone = Displacements(x, [0], [len(x)], range(3), pairs, times(len(x)), [0], **options)
        expected = np.empty((1, *alone.shape), dtype)
        alone.sums(0, 1, expected)
        np.testing.assert_array_equal(out[b], expected[0])


def test_what_is_too_wide_is_left_out():
    x = np.concatenate([walk(5, 4), 1000 * walk(6, 4)])
    options: dict[str, Any] = {
        "sigma": 0.6,
        "n_pivots": 3,
        "reach": 1.0,
        "sigma_span": None,
        "tol": 1e-5,
    }
    given = Displacements(x, [0, 5], [5, 6], range(4), PAIRS, times(6), [0, 0], **options)
    out = np.zeros((2, *given.shape))
    given.sums(0, 2, out)
    assert (out[0] != 0).any()
    assert (out[1] == 0).all()
    assert given.widest[0, 1] <= MOST_HARMONICS < given.widest[1, 1]
    np.testing.assert_allclose(given.widest[1, 0], np.ptp(x[5:], axis=(0, 1)).max())
