"""Seeded recordings that the benchmarks share: smooth motion of a body's size, float32."""

from __future__ import annotations

import numpy as np

SET_E = (3, 5, 6, 8, 10, 11, 13, 14)  # eight joints, as many as the paper's set E


def recordings(n: int, n_frames: int = 80, n_joints: int = 25, seed: int = 0) -> np.ndarray:
    """Joints that stand somewhere in a body, swing and jitter, (n, T, J, 3)."""
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
