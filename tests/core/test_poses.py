"""Poses and signals by the core, against the formulas; recordings side by side, in parts, in both
precisions.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import poses as reference
from reference.moments import reference_motion

from kerneton.core import poses

ROUNDING = {"float32": 2e-6, "float64": 1e-12}
LENGTHS = (1, 7, 2, 40, 9, 100)


def chain(n_joints: int) -> list[tuple[int, int]]:
    """A random tree, parents first."""
    rng = np.random.default_rng(n_joints)
    return [(int(rng.integers(j)), j) for j in range(1, n_joints)]


def recordings(
    lengths: tuple[int, ...],
    n_joints: int,
    dtype: str = "float64",
    scale: float = 1.0,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    frames = rng.normal(size=(sum(lengths), n_joints, 3)) + rng.normal(size=(n_joints, 3)) * 3
    return (frames * scale).astype(dtype), np.concatenate([[0], np.cumsum(lengths)])


def parts(starts: np.ndarray) -> list[tuple[int, int]]:
    n = len(starts) - 1
    return [(0, n // 2), (n // 2, n)]


def compare(
    found: np.ndarray,
    expected: list[np.ndarray],
    starts: np.ndarray,
    rounding: float,
    scale: float = 1.0,
) -> None:
    for b, one in enumerate(expected):
        here = found[starts[b] : starts[b + 1]]
        np.testing.assert_allclose(
            here, one, rtol=0, atol=rounding * scale * max(1, np.abs(one).max() / scale)
        )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=5),
    st.integers(1, 60),
    st.sampled_from(["float32", "float64"]),
    st.floats(0, 0.95),
    st.integers(0, 99),
)
def test_gaps(lengths: list[int], n_joints: int, dtype: str, share: float, seed: int) -> None:
    x, starts = recordings(tuple(lengths), n_joints, dtype, seed=seed)
    rng = np.random.default_rng(seed)
    confidence = rng.random(x.shape[:2]).astype(dtype)
    confidence[rng.random(x.shape[:2]) < share / 2] = 0
    x[rng.random(x.shape) < share / 2] = np.nan
    x[rng.random(len(x)) < share / 4] = 0
    missing = poses.find_missing(x, confidence)
    zero = (x == 0).all(axis=(1, 2)) & (n_joints > 1)
    np.testing.assert_array_equal(missing, np.isnan(x).any(2) | zero[:, None] | ~(confidence > 0))
    out = x.copy()
    for first, last in parts(starts):
        poses.fill_gaps(out, missing, starts, first, last)
    expected = [
        reference.filled(x[a:b].astype(np.float64), missing[a:b])
        for a, b in itertools.pairwise(starts)
    ]
    compare(out, expected, starts, 10 * ROUNDING[dtype])
    np.testing.assert_array_equal(out[~missing], x[~missing])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_joints", [2, 15, 200])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_bone_lengths(dtype: str, n_joints: int, scale: float) -> None:
    x, starts = recordings((*LENGTHS, 5000 if n_joints == 2 else 5), n_joints, dtype, scale)
    bones = chain(n_joints)
    out = np.empty((len(starts) - 1, len(bones)))
    for first, last in parts(starts):
        poses.bone_lengths(x, starts, bones, first, last, out)
    for b in range(len(starts) - 1):
        here = x[starts[b] : starts[b + 1]].astype(np.float64)
        np.testing.assert_allclose(out[b], reference.bone_lengths(here, bones), rtol=1e-13)


def test_bone_lengths_of_equal_frames() -> None:
    x = np.ones((1000, 3, 3))
    out = np.empty((1, 2))
    poses.bone_lengths(x, np.array([0, 1000]), [(0, 1), (1, 2)], 0, 1, out)
    assert not out.any()


def turns(x: np.ndarray, kind: str, each_frame: bool) -> np.ndarray:
    across, along = [(0, 3), (1, 4)], [(2, 3), (2, 4)]
    if kind == "yaw":
        return reference.yaw_front(x, across, each_frame=each_frame)
    if kind == "look":
        return reference.yaw_front(x, [], [(0, 3)], each_frame=each_frame)
    if kind == "full":
        return reference.full_front(x, across, along, each_frame=each_frame)
    return x


TURNS = {
    "": {},
    "yaw": {"turn": "yaw", "across": [(0, 3), (1, 4)]},
    "look": {"turn": "yaw", "along": [(0, 3)]},
    "full": {"turn": "full", "across": [(0, 3), (1, 4)], "along": [(2, 3), (2, 4)]},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bones", ["size", "reference", None])
@pytest.mark.parametrize("kind", TURNS)
@pytest.mark.parametrize(
    ("roots", "path"), [((2,), False), ((2,), True), ((0, 3), False), ((), False)]
)
@pytest.mark.parametrize("each_frame", [False, True])
def test_places(
    dtype: str, bones: str | None, kind: str, roots: tuple[int, ...], path: bool, each_frame: bool
) -> None:
    x, starts = recordings(LENGTHS, 6, dtype, seed=3)
    tree, lengths = chain(6), np.linspace(0.2, 0.5, 5)
    factors = np.linspace(0.5, 2, len(LENGTHS)) if bones == "size" else None
    given = {"bones": tree, "lengths": lengths} if bones == "reference" else {}
    placing = poses.Placing(roots, path=path, each_frame=each_frame, **given, **TURNS[kind])
    expected = []
    for b, (a, z) in enumerate(itertools.pairwise(starts)):
        y = x[a:z].astype(np.float64)
        y = reference.equal_bones(y, tree, lengths) if bones == "reference" else y
        y = y * factors[b] if factors is not None else y
        way = y[:, list(roots)].mean(axis=1, keepdims=True) if roots else np.zeros((len(y), 1, 3))
        y = np.concatenate([y - way, way - way[:1]], axis=1)
        y = turns(y, kind, each_frame)
        if path:
            y[:, roots[0]] = y[:, -1]
        expected.append(y[:, :-1])
    for out_dtype in ("float32", "float64"):
        out = np.empty(x.shape, out_dtype)
        for first, last in parts(starts):
            placing.of(x, starts, factors, first, last, out)
        rounding = max(ROUNDING[dtype], ROUNDING[out_dtype])
        compare(out, expected, starts, 20 * rounding if dtype == "float64" else 1e-5)


def test_two_dimensions_are_not_turned() -> None:
    x, starts = recordings((9,), 6)
    x[..., 2] = 0
    out = poses.Placing((2,), **TURNS["yaw"]).of(x, starts, None, 0, 1)
    np.testing.assert_allclose(out, x - x[:, [2]], atol=1e-15)


def test_a_body_without_lines_stays() -> None:
    x = np.ones((4, 6, 3))
    for kind in TURNS:
        out = poses.Placing((), **TURNS[kind]).of(x, np.array([0, 4]), None, 0, 1)
        assert np.isfinite(out).all()
        if kind != "full":
            np.testing.assert_array_equal(out, x)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 80), min_size=1, max_size=5),
    st.integers(1, 200),
    st.sampled_from(["float32", "float64"]),
    st.floats(-12, 12),
    st.sampled_from([1, 2]),
    st.integers(0, 99),
)
def test_derivatives(
    lengths: list[int], n_joints: int, dtype: str, exponent: float, order: int, seed: int
) -> None:
    scale = 10.0**exponent
    x, starts = recordings(tuple(lengths), n_joints, dtype, scale, seed)
    rates = np.linspace(1, 30, len(lengths)) ** order
    out = np.empty_like(x)
    for first, last in parts(starts):
        poses.derivative(x, starts, order, rates, first, last, out)
    ends = zip(starts[:-1], starts[1:], rates, strict=True)
    expected = [reference.derivative(x[a:b].astype(np.float64), order, rate) for a, b, rate in ends]
    compare(out, expected, starts, ROUNDING[dtype], scale * rates.max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_directions_and_displacements(dtype: str) -> None:
    x, starts = recordings(LENGTHS, 15, dtype)
    x[3, 4] = 0
    parents = np.array([-1, *(i for i, _ in chain(15))])
    y = x.astype(np.float64)
    lines = np.where((parents >= 0)[:, None], y - y[:, parents], 0)
    np.testing.assert_allclose(poses.directions(x), reference.unit(y), atol=ROUNDING[dtype])
    np.testing.assert_allclose(
        poses.directions(x, parents), reference.unit(lines), atol=ROUNDING[dtype]
    )
    every = [y[a:b] for a, b in itertools.pairwise(starts)]
    origins = {
        poses.FROM_FIRST: lambda one: one[:1],
        poses.FROM_MEAN: lambda one: one.mean(axis=0, keepdims=True),
        poses.FROM_MIDDLE: lambda one: one.mean(axis=(0, 1), keepdims=True),
    }
    for origin, of in origins.items():
        out = np.empty_like(x)
        for first, last in parts(starts):
            poses.displacement(x, starts, origin, first, last, out)
        compare(out, [one - of(one) for one in every], starts, 4 * ROUNDING[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_frames", [1, 2, 3, 30, 101])
@pytest.mark.parametrize("fps", [None, 25.0])
def test_motion(n_frames: int, fps: float | None, dtype: str) -> None:
    frames, _ = recordings((n_frames,), 7, dtype)
    frames[:, 3] = frames[0, 3]  # at rest
    found = poses.motion(frames, fps)
    np.testing.assert_allclose(found, reference_motion(frames, fps), rtol=1e-12)
    assert (found > 0).all()
