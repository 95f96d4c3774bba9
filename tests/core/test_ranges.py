"""Whatever its size: 1 to 5,000 frames, 1 to 200 joints, coordinates of 1e-12 to 1e12, blocks of
NaN. The core gives what the formulas give, and a bad recording harms no other.
"""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import poses as reference
from reference.displacement import reference_peak, reference_sums
from reference.hosvd import reference_hosvd_power
from reference.powers import reference_power
from reference.sck import order2

from kerneton.core import poses, powers
from kerneton.core.dck import MOST_HARMONICS, Displacements
from kerneton.core.hosvd import hosvd_power
from kerneton.core.sck import Vectors

MOST = 12_000  # joints times frames of an example, so that formulas take milliseconds
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCALES = st.floats(-12, 12).map(lambda e: 10.0**e)
DTYPES = st.sampled_from(["float32", "float64"])


@st.composite
def recordings(draw, longest: int = 5000, n_recordings: int = 3, n_joints: int | None = None):
    """Frames side by side (N, J, 3), where each recording starts, and its scale."""
    joints = draw(st.integers(1, 200)) if n_joints is None else n_joints
    most = max(1, min(longest, MOST // joints))
    lengths = draw(st.lists(st.integers(1, most), min_size=1, max_size=n_recordings))
    while sum(lengths) > most and len(lengths) > 1:
        lengths.pop()
    scale, dtype = draw(SCALES), draw(DTYPES)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.normal(size=(sum(lengths), joints, 3)) * scale
    return x.astype(dtype), np.concatenate([[0], np.cumsum(lengths)]), scale


@st.composite
def block(draw, x: np.ndarray):
    """Frames and joints that lie together."""
    first, joint = draw(st.integers(0, len(x) - 1)), draw(st.integers(0, x.shape[1] - 1))
    return slice(first, first + draw(st.integers(1, 500))), slice(
        joint, joint + draw(st.integers(1, 50))
    )


@FEW
@given(st.data())
def test_gaps_are_filled(data) -> None:
    x, starts, scale = data.draw(recordings())
    for _ in range(data.draw(st.integers(0, 3))):
        x[data.draw(block(x))] = np.nan
    missing = poses.find_missing(x)
    np.testing.assert_array_equal(missing, np.isnan(x).any(axis=2))
    out = x.copy()
    poses.fill_gaps(out, missing, starts, 0, len(starts) - 1)
    rounding = 1e-5 if x.dtype == np.float32 else 1e-12
    for a, b in itertools.pairwise(starts):
        expected = reference.filled(x[a:b].astype(np.float64), missing[a:b])
        np.testing.assert_allclose(out[a:b], expected, rtol=0, atol=rounding * scale * 10)


def signals_to_features(x: np.ndarray, starts: np.ndarray, table: np.ndarray) -> np.ndarray:
    rows = np.array([(j, -1) for j in range(x.shape[1])])
    vectors = Vectors([x], starts[:-1], np.diff(starts), rows, [1.0], table, 3, [])
    size = vectors.n_rows * (vectors.size * (vectors.size + 1) // 2)
    out = np.full((vectors.n_recordings, size), np.nan, x.dtype)
    assert not vectors.order2(0.5, None, 0, vectors.n_groups, out).any()
    return out


@FEW
@given(st.data())
def test_sck(data) -> None:
    x, starts, scale = data.draw(recordings())
    width = 0.7 * min(scale, 1e6)  # some coordinates are within reach of the pivots, or none
    rows = [(w, p * width, 1 / width**2, 0.7) for w in range(3) for p in (-1, 1)]
    table = np.ascontiguousarray(np.array([*rows, (-1, 0.0, 4.0, 0.5), (-1, 1.0, 4.0, 0.5)]).T)
    found = signals_to_features(x, starts, table)
    assert np.isfinite(found).all()
    for b, (first, last) in enumerate(itertools.pairwise(starts)):
        expected = order2(x[first:last], table, 0.5).ravel()
        error = np.linalg.norm(found[b] - expected)
        assert error <= (2e-4 if x.dtype == np.float32 else 1e-6) * np.linalg.norm(expected)
        # alone, to the bit
        alone = signals_to_features(x[first:last].copy(), np.array([0, last - first]), table)
        np.testing.assert_array_equal(alone[0], found[b])


@FEW
@given(st.data())
def test_dck(data) -> None:
    x, starts, scale = data.draw(recordings(longest=120, n_joints=2))
    span = data.draw(st.sampled_from([None, 3.0]))
    times = np.concatenate([np.stack([t, 1 - t], 1) for t in map(_times, np.diff(starts))])
    pairs, tol = np.array([[0, 1], [1, 1]]), 1e-4
    options = {"sigma": 0.6, "n_pivots": 3, "sigma_span": span, "reach": 1.0}
    lengths = np.diff(starts)
    given_ = Displacements(
        x, starts[:-1], lengths, range(2), pairs, times, starts[:-1], tol=tol, **options
    )
    out = np.full((len(lengths), *given_.shape), np.nan, x.dtype)
    given_.sums(0, len(lengths), out)
    for b, (first, last) in enumerate(itertools.pairwise(starts)):
        if given_.widest[b, 1] > MOST_HARMONICS:
            assert scale > 1  # too wide, and told
            continue
        z = times[first:last]
        share = 1 / (2 * (last - first))
        expected = reference_sums(x[first:last], z, pairs, **options) * share
        bound = tol * reference_peak(z, **options) * share
        assert (np.abs(out[b] - expected) <= bound + 1e-6 * np.abs(expected).max()).all()


def _times(n: int) -> np.ndarray:
    return np.arange(1, n + 1) / n


@FEW
@given(st.integers(4, 40), SCALES, DTYPES, st.integers(0, 99), st.booleans())
def test_powers(n: int, scale: float, dtype: str, seed: int, broken: bool) -> None:
    V = np.random.default_rng(seed).normal(size=(9, n, n + 3))
    A = (V @ V.swapaxes(1, 2) / n * scale).astype(dtype)
    if broken:
        A[4, n // 2 :, : n // 2] = np.nan
    out = np.empty_like(A)
    assert not powers.psd_power(A, 0.36, out)[np.arange(9) != 4].any()
    for k in range(9):
        if broken and k == 4:
            assert not np.isfinite(out[k]).all()
            continue
        expected = reference_power(A[k].astype(float), 0.36)
        error = np.linalg.norm(out[k] - expected) / np.linalg.norm(expected)
        assert error < (1e-5 if dtype == "float32" else 1e-9)


@FEW
@given(SCALES, DTYPES, st.integers(0, 99), st.booleans())
def test_hosvd(scale: float, dtype: str, seed: int, broken: bool) -> None:
    X = (np.random.default_rng(seed).normal(size=(5, 6, 4, 4)) * scale).astype(dtype)
    if broken:
        X[2, :3, 1] = np.nan
    out, failed = hosvd_power(X, 0.85, 1.0)
    assert not failed[np.arange(5) != 2].any()
    for k in range(5):
        if broken and k == 2:
            assert np.isnan(out[k]).all()
            continue
        expected = reference_hosvd_power(X[k].astype(float), 0.85)
        error = np.linalg.norm(out[k] - expected) / np.linalg.norm(expected)
        assert error < (1e-5 if dtype == "float32" else 1e-9)
