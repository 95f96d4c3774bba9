"""Poses, signals and features of many concatenated recordings in compiled passes, for branches whose steps are supported.

Equal to preprocessing and kernel one by one within 1e-4 of a feature vector's length: here poses are computed in float64.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from kerneton.data.layouts import can_turn, facing_lines, loose_joints
from kerneton.data.sequence import SkeletonSequence
from kerneton.kernels.compiled import poses, sck_order2
from kerneton.kernels.sck import SCK
from kerneton.kernels.signals import _TAPS, DIFFERENCES, _band
from kerneton.machine.threads import count_threads, in_threads
from kerneton.prepare.preprocess import Preprocess, origin, without_gaps

_COLUMNS = {"position": 0, "velocity": 3, "acceleration": 6, "bone": 9}


class Frames:
    """Concatenated recordings without gaps, (N, J, 3), and the inputs of kernels for each preprocessing."""

    def __init__(self, sequences: Sequence[SkeletonSequence], n_threads: int = 1) -> None:
        assert sequences[0].layout is not None
        self.n_threads, self.layout = n_threads, sequences[0].layout
        self.lengths = np.array([s.n_frames for s in sequences])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.rates = np.array([[s.fps or 1.0, (s.fps or 1.0) ** 2] for s in sequences])
        raw = [without_gaps(s, "fill", i) for i, s in enumerate(sequences)]
        self.raw = np.ascontiguousarray(raw[0]) if len(raw) == 1 else np.concatenate(raw)
        self.sizes = np.empty((len(sequences), len(self.layout.bones)))
        ends = np.asarray(self.layout.bones, np.int64).reshape(-1, 2)
        self._each(
            lambda first, last: poses.bone_lengths(self.raw, self.starts, ends, first, last, self.sizes)
        )

    def fit(self, preprocess: Preprocess) -> Preprocess:
        """A fitted copy of the preprocessing; its reference is the median of these recordings' bones."""
        step = clone(preprocess)
        reference = np.median(self.sizes, axis=0) if step.reference is None else step.reference
        step.set_params(reference=reference).fit([SkeletonSequence(self.raw[:1], layout=self.layout)])
        return step.set_params(reference=preprocess.reference)

    def prepare(self, step: Preprocess) -> SkeletonSequence:
        """Poses of a fitted step as one long recording with its signals."""
        layout, size = step.layout_, self.sizes.sum(axis=1)
        factors = np.divide(step.reference_.sum(), size, out=np.ones_like(size), where=size > 0)
        root = origin(layout)
        roots = np.array(root if isinstance(root, tuple) else [root])
        turned = step.facing is not None and can_turn(layout)
        lines = np.array(facing_lines(layout) if turned else [], np.int64).reshape(-1, 2)
        taps = np.stack([_band(order)[0, : 2 * _TAPS + 1] for order in (1, 2)])
        parents = np.full(len(layout.joints), -1)
        for parent, child in layout.bones:
            parents[child] = parent
        out = np.empty((*self.raw.shape[:2], 12), np.float32)
        given = self.raw, self.starts, factors, self.rates, roots, lines, taps, parents
        self._each(lambda first, last: poses.signals(*given, first, last, out))
        long = SkeletonSequence(out[:, :, :3], layout=layout)
        kept = {name: out[:, :, column : column + 3] for name, column in _COLUMNS.items()}
        long.__dict__.update(_signals=kept, _frames=out)
        return long

    def encode(self, kernel: SCK, long: SkeletonSequence) -> np.ndarray | None:
        """Features of a fitted kernel without mirroring and weights, (B, n_features); None if a power does not converge."""
        if kernel.n_axes_ < 3:
            return None
        names = [part.name for part in kernel._map.parts]
        # Directions are computed from differences of positions.
        unit = sum(1 << i for i, name in enumerate(names) if name == "direction")
        columns = [
            _COLUMNS[name if name in DIFFERENCES else "position"] + c for name in names for c in range(3)
        ]
        scales = np.repeat([kernel.scales_[name] for name in names], 3)
        rows = kernel.pairs_ if kernel.pairs else np.array([(j, -1) for j in kernel.joints_])
        table = kernel._map.table()
        frames = long.__dict__["_frames"]
        given = frames, self.starts[:-1], self.lengths, rows, columns, scales, unit, table, kernel.power
        features, failed = sck_order2.frame_features(*given, self.n_threads)
        return None if failed.any() else features

    def _each(self, work: Any) -> None:
        """``work(first, last)`` for all recordings, on several threads."""
        n = min(self.n_threads, len(self.lengths))
        ends = np.searchsorted(self.starts, np.linspace(0, self.starts[-1], n + 1)).tolist()
        in_threads(lambda part: work(*part), itertools.pairwise(ends), n)


def knows(preprocess: Any, kernel: Any, layout: Any) -> bool:
    """Whether this module supports the steps of a branch, fitted or not, for recordings of a layout."""
    if type(preprocess) is not Preprocess or type(kernel) is not SCK or not _whole(layout):
        return False
    if (preprocess.gaps, preprocess.bones, preprocess.center, preprocess.dtype) != (
        "fill",
        "size",
        True,
        "float32",
    ):
        return False
    if preprocess.facing not in (None, "sequence") or preprocess.n_frames or preprocess.reach is not None:
        return False
    names = (kernel.signals,) if isinstance(kernel.signals, str) else kernel.signals
    if not {*names} <= {*_COLUMNS, "direction"} or kernel.order != 2 or not 0 < kernel.power < 1:
        return False
    return kernel.device is None and len(layout.bodies) == 1 and len(layout.roots) == 1


def _whole(layout: Any) -> bool:
    return layout is not None and bool(layout.bones) and not loose_joints(layout)


def frames_of(sequences: Sequence[SkeletonSequence], n_threads: int = 1) -> Frames | None:
    """Checked recordings concatenated, if all have the same layout with bones and the same precision; otherwise None."""
    layout, dtype = sequences[0].layout, sequences[0].joints.dtype
    alike = all(s.layout is layout and s.joints.dtype == dtype for s in sequences)
    return Frames(sequences, n_threads) if alike and _whole(layout) else None


def encode_together(
    branches: Sequence[Any], sequences: Sequence[SkeletonSequence]
) -> list[np.ndarray] | None:
    """Features of fitted branches that `knows` supports, before mirroring, weights and scale; None if that is impossible."""
    frames = frames_of(sequences, count_threads(branches[0].kernel_.n_jobs))
    if frames is None:
        return None
    poses: dict[int, SkeletonSequence] = {}
    found = []
    for branch in branches:
        step = branch.preprocess_
        same = step.layout_.joints == frames.layout.joints and step.layout_.bones == frames.layout.bones
        if not same or step.n_joints_in_ != frames.raw.shape[1]:
            return None
        if id(step) not in poses:
            poses[id(step)] = frames.prepare(step)
        features = frames.encode(branch.kernel_, poses[id(step)])
        if features is None:
            return None
        found.append(features)
    return found
