"""Seeded recordings that the benchmarks share, and the plain NumPy formulas that are their
baseline.
"""

from __future__ import annotations

import functools
import os
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets import load_msr_action3d, make_actions
from kerneton.exceptions import MissingDataError
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.prepare.poses import resample
from kerneton.recognize.presets import make_recognizer

SET_E = (3, 5, 6, 8, 10, 11, 13, 14)  # eight joints, as many as the paper's set E
PAPER_DCK: dict[str, Any] = {"sigma_joint": 0.3, "sigma_time": 0.25, "sigma_span": 3.0}


class Prepared(NamedTuple):
    """Recordings as the paper's kernels take them: hip-centred with equal bones for SCK, as
    recorded for DCK.
    """

    source: str
    for_sck: list[SkeletonSequence]
    for_dck: list[SkeletonSequence]
    sck: SCK
    dck: DCK

    def to(self, dtype: Any) -> Prepared:
        """The same recordings in another precision."""
        cast = [
            [s.replace(joints=s.joints.astype(dtype)) for s in part]
            for part in (self.for_sck, self.for_dck)
        ]
        return self._replace(for_sck=cast[0], for_dck=cast[1])


def recordings(n: int, n_frames: int = 80, n_joints: int = 25, seed: int = 0) -> np.ndarray:
    """Joints at random places of a body that swing and jitter, (n, T, J, 3) float32.

    >>> recordings(2, n_frames=5, n_joints=4).shape
    (2, 5, 4, 3)
    """
    rng = np.random.default_rng(seed)
    shape = (n, 1, n_joints, 3)
    bounds = ((-0.7, 0.7), (0.05, 0.3), (0, 6.3))
    start, swing, phase = (rng.uniform(low, high, shape).astype(np.float32) for low, high in bounds)
    pace = rng.uniform(1, 8, (n, 1, 1, 1)).astype(np.float32)
    time = np.linspace(0, 1, n_frames, dtype=np.float32)[:, None, None]
    x = start + swing * np.sin(phase + pace * time)
    x += np.float32(0.005) * rng.standard_normal(x.shape, dtype=np.float32)
    return x


def kernels(joints: Any = SET_E, **options: Any) -> dict[str, Any]:
    """SCK with tensors of order 22, and DCK over any two frames and in the paper's window;
    ``joints`` are DCK's.
    """
    return {
        "sck": SCK(n_pivots_time=7, **options),
        "dck": DCK(joints=joints, **options),
        "dck_window": DCK(joints=joints, **PAPER_DCK, **options),
    }


def msr_action3d(data_home: str | os.PathLike[str] | None) -> SkeletonDataset:
    """MSR-Action3D, or generated recordings of its shape: 557 of 20 joints and 13 to 76 frames, 40
    on average.
    """
    try:
        return load_msr_action3d(data_home)
    except MissingDataError:
        return _generated_msr()


@functools.cache
def _generated_msr() -> SkeletonDataset:
    made = make_actions(n_subjects=10, n_takes=4)[:557]
    lengths = np.random.default_rng(0).triangular(13, 31, 76, len(made)).astype(int)
    short = [
        s.replace(joints=resample(s.joints, n), confidence=None)
        for s, n in zip(made, lengths, strict=True)
    ]
    return SkeletonDataset(short, name="generated, of the shape of MSR-Action3D")


def prepared(n: int, data_home: str | os.PathLike[str] | None) -> Prepared:
    """Some of the recordings above, evenly spaced, in float64, and the paper's kernels, fitted."""
    data = msr_action3d(data_home)
    some = data.select(np.linspace(0, len(data) - 1, min(n, len(data))).astype(int))
    branches = dict(make_recognizer("paper").branches)
    ready = {}
    for name, branch in branches.items():
        ready[name] = branch.preprocess.fit(data).transform(some)
        branch.kernel.fit(ready[name])
    return Prepared(
        data.name, ready["sck"], ready["dck"], branches["sck"].kernel, branches["dck"].kernel
    )


def parameters(kernel: SCK | DCK) -> dict[str, Any]:
    """The parameters of a kernel that the plain formulas take."""
    names = ["sigma_joint", "n_pivots_joint", "sigma_time", "n_pivots_time", "power"]
    names += ["joint_weight", "sigma_span"]
    return {name: getattr(kernel, name) for name in names if hasattr(kernel, name)}
