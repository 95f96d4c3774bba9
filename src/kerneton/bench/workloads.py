"""Seeded recordings that the benchmarks share: smooth motion of a body's size, float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneton.dck import DCK
from kerneton.sck import SCK

SET_E = (3, 5, 6, 8, 10, 11, 13, 14)  # eight joints, as many as the paper's set E
PAPER_DCK: dict[str, Any] = {"sigma_joint": 0.3, "sigma_time": 0.25, "sigma_span": 3.0}


def recordings(n: int, n_frames: int = 80, n_joints: int = 25, seed: int = 0) -> np.ndarray:
    """Joints that stand somewhere in a body, swing and jitter, (n, T, J, 3) float32.

    >>> recordings(2, n_frames=5, n_joints=4).shape
    (2, 5, 4, 3)
    """
    rng = np.random.default_rng(seed)
    shape = (n, 1, n_joints, 3)
    start = rng.uniform(-0.7, 0.7, shape).astype(np.float32)
    swing, phase = (
        rng.uniform(0.05, 0.3, shape).astype(np.float32),
        rng.uniform(0, 6.3, shape).astype(np.float32),
    )
    pace = rng.uniform(1, 8, (n, 1, 1, 1)).astype(np.float32)
    time = np.linspace(0, 1, n_frames, dtype=np.float32)[:, None, None]
    x = start + swing * np.sin(phase + pace * time)
    x += np.float32(0.005) * rng.standard_normal(x.shape, dtype=np.float32)
    return x


def kernels(**options: Any) -> dict[str, Any]:
    """SCK with tensors of order 22, and DCK of eight joints with any two frames and in the paper's window."""
    return {
        "sck": SCK(n_pivots_time=7, **options),
        "dck": DCK(joints=SET_E, **options),
        "dck_window": DCK(joints=SET_E, **PAPER_DCK, **options),
    }
