"""SCK by the core, from signals side by side to features, against the formula."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.sck import order1, order2, order3

from kerneton.core.sck import Entries, Vectors
from kerneton.kernels.tensors import entry_table


def table_of(n_coordinates: int, n_pivots: int, n_times: int, sigma: float) -> np.ndarray:
    rows = [
        (w, p, 1 / sigma**2, 0.7)
        for w in range(n_coordinates)
        for p in np.linspace(-1, 1, n_pivots)
    ]
    rows += [(-1, p, 4.0, 0.5) for p in np.linspace(0, 1, n_times)]
    return np.ascontiguousarray(np.array(rows).T)


def walks(
    lengths: list[int], n_joints: int, n_signals: int, dtype: str, seed: int
) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = sum(lengths), n_joints, 3
    return [np.cumsum(rng.normal(size=shape) * 0.1, axis=0).astype(dtype) for _ in range(n_signals)]


def features(vectors: Vectors, power: float, *, parts: int = 1) -> np.ndarray:
    size = vectors.n_rows * vectors.size * (vectors.size + 1) // 2
    out = np.empty((vectors.n_recordings, size), vectors.dtype)
    bounds = [vectors.n_groups * i // parts for i in range(parts + 1)]
    for first, last in itertools.pairwise(bounds):
        assert not vectors.order2(power, None, first, last, out).any()
    return out


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.integers(1, 40),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([0.3, 0.5, 1.0]),
    st.booleans(),
    st.integers(0, 99),
)
def test_the_formula(
    lengths: list[int],
    n_joints: int,
    n_signals: int,
    n_pivots: int,
    n_times: int,
    dtype: str,
    power: float,
    pairs: bool,
    seed: int,
) -> None:
    table = table_of(3 * n_signals, n_pivots, n_times, 0.6)
    signals = walks(lengths, n_joints, n_signals, dtype, seed)
    starts = np.cumsum(lengths) - lengths
    scales = np.linspace(1, 2, n_signals)
    pairs = pairs and n_joints > 1
    rows = (
        [(j, (j + 1) % n_joints) for j in range(n_joints)]
        if pairs
        else [(j, -1) for j in range(n_joints)]
    )
    found = features(Vectors(signals, starts, lengths, rows, scales, table), power, parts=2)
    for b, (start, n) in enumerate(zip(starts, lengths, strict=True)):
        x = [
            signal[start : start + n].astype(np.float64) * k
            for signal, k in zip(signals, scales, strict=True)
        ]
        x = [y - np.roll(y, -1, axis=1) for y in x] if pairs else x
        expected = order2(np.concatenate(x, axis=2), table, power).ravel()
        gap = np.linalg.norm(found[b] - expected) / np.linalg.norm(expected)
        # Single precision of the signals, lifted by the power; eigenvalues are known to 1e-16 of
        # the largest.
        assert gap < (1e-4 if dtype == "float32" else 2e-5 if power < 0.5 else 1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_units_two_axes_and_views(dtype: str) -> None:
    lengths, (x, y) = [9, 20], walks([9, 20], 5, 2, dtype, 1)
    table, rows = table_of(4, 4, 3, 0.5), [(j, -1) for j in range(5)]
    given = [0, 9], lengths, rows, [1.0, 1.0], table, 2
    units = np.float64(x[..., :2]) / np.linalg.norm(np.float64(x[..., :2]), axis=2, keepdims=True)
    found = features(Vectors([x, y], *given, unit=[0]), 0.5)
    wide = np.concatenate([x, y], axis=2)
    np.testing.assert_array_equal(
        found, features(Vectors([wide[..., :3], wide[..., 3:]], *given, unit=[0]), 0.5)
    )
    for b, here in enumerate((slice(0, 9), slice(9, 29))):
        expected = order2(np.concatenate([units, y[..., :2]], axis=2)[here], table, 0.5).ravel()
        assert np.linalg.norm(found[b] - expected) < 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_recording_depends_on_its_neighbours(dtype: str) -> None:
    lengths = [30, 1, 7, 300, 12, 7]
    (x,) = walks(lengths, 21, 1, dtype, 2)
    x[31:38] = np.nan
    starts, table = np.cumsum(lengths) - lengths, table_of(3, 5, 6, 0.6)
    rows = [(j, -1) for j in range(21)]
    together = features(Vectors([x], starts, lengths, rows, [1], table), 0.3, parts=3)
    for b, (start, n) in enumerate(zip(starts, lengths, strict=True)):
        alone = features(Vectors([x[start : start + n]], [0], [n], rows, [1], table), 0.3)
        np.testing.assert_array_equal(together[b], alone[0])
    assert np.isnan(together[2]).all()
    assert np.isfinite(np.delete(together, 2, axis=0)).all()


def test_a_long_recording() -> None:
    (x,) = walks([5000], 2, 1, "float32", 3)
    x *= 0.05
    table = table_of(3, 5, 6, 0.6)
    found = features(Vectors([x], [0], [5000], [(0, -1), (1, -1)], [1], table), 0.5)
    expected = order2(np.float64(x), table, 0.5).ravel()
    assert np.linalg.norm(found[0] - expected) < 1e-4 * np.linalg.norm(expected)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.integers(1, 36),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(["simplex", "upper", "slices"]),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from([0.3, 0.5, 1.0]),
    st.integers(0, 99),
)
def test_the_formula_of_orders_1_and_3(
    lengths: list[int],
    n_joints: int,
    n_pivots: int,
    n_times: int,
    entries: str,
    dtype: str,
    power: float,
    seed: int,
) -> None:
    table = table_of(3, n_pivots, n_times, 0.6)
    (signal,) = walks(lengths, n_joints, 1, dtype, seed)
    starts, rows = np.cumsum(lengths) - lengths, [(j, -1) for j in range(n_joints)]
    vectors = Vectors([signal], starts, lengths, rows, [1.0], table)
    positions, weights = entry_table(table.shape[1], 3, entries)
    kept = Entries(table.shape[1], positions, weights / len(positions))
    n_rows = len(lengths) * n_joints
    cubes = np.full((len(lengths), n_joints * kept.n_entries), np.nan, dtype)
    means = np.full((len(lengths), n_joints * table.shape[1]), np.nan, dtype)
    for first, last in itertools.pairwise([0, n_rows // 3, n_rows]):
        assert not len(vectors.order3(power, None, kept, first, last, cubes))
        vectors.order1(power, first, last, means)
    for b, (start, n) in enumerate(zip(starts, lengths, strict=True)):
        x = signal[start : start + n].astype(np.float64)
        expected = order1(x, table, power).ravel()
        assert np.linalg.norm(means[b] - expected) <= 1e-6 * np.linalg.norm(expected)
        expected = order3(x, table, power, entries).ravel()
        gap = np.linalg.norm(cubes[b] - expected) / np.linalg.norm(expected)
        # Eigenvalues are known to 1e-16 of the largest, and the power lifts that.
        assert gap < (1e-4 if dtype == "float32" else 2e-5 if power < 0.5 else 1e-6)
