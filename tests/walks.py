"""Smooth random motion within a metre or two of the origin, for tests of kernels and
preprocessing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonSequence


def walk(
    n_frames: int, n_joints: int = 15, *, seed: int = 0, dtype: Any = np.float64
) -> np.ndarray:
    """Joints that start around a body's size from each other and drift, (T, J, 3)."""
    rng = np.random.default_rng([seed, n_frames, n_joints])
    start = rng.uniform(-0.7, 0.7, size=(1, n_joints, 3))
    phase, pace = rng.uniform(0, 2 * np.pi, (2, 1, n_joints, 3))
    time = np.linspace(0, 1, n_frames)[:, None, None]
    drift = 0.3 * np.sin(phase + pace * time) + rng.normal(scale=0.01, size=(n_frames, n_joints, 3))
    return (start + drift).astype(dtype)


def walks(
    lengths: tuple[int, ...], n_joints: int = 15, *, seed: int = 0, dtype: Any = np.float64
) -> list:
    return [walk(t, n_joints, seed=seed + i, dtype=dtype) for i, t in enumerate(lengths)]


def people(lengths: tuple[int, ...], *, seed: int = 0, **fields: Any) -> list[SkeletonSequence]:
    """The same with the layout of Florence3D."""
    return [SkeletonSequence(x, layout=FLORENCE_15, **fields) for x in walks(lengths, seed=seed)]


def assert_rows_close(answer: np.ndarray, expected: np.ndarray, tol: float = 1e-6) -> None:
    """Each row within a part of its norm, rows of zeros exactly.

    A power γ next to zero turns a rounding error ε into ε^γ, so that single entries say little.
    """
    assert answer.shape == expected.shape
    gap = np.linalg.norm(np.float64(answer) - np.float64(expected), axis=1)
    assert np.all(gap <= tol * np.linalg.norm(np.float64(expected), axis=1)), gap
