"""From incoming frames to features per frame: gaps are held, size and facing are tracked, with a
few frames of look-ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.exceptions import DataError, ModelFileError

AHEAD = 3  # frames after a frame that its features use
_SPAN = 2  # half of the frames over which velocity is taken
_SIZE_FRAMES = 150  # over which a body's size is averaged
_BLOCK = 2048  # frames whose signals are summed together
_MOST_PAIRED = 12  # joints whose pairs are used if a layout has no joint sets
_PIVOTS = {"position": 5, "velocity": 5, "root": 5, "pairs": 3}  # of each signal's coordinates


class Cleaner:
    """Removes gaps from the frames of one body, in order: a missing joint stays where it was last
    seen.

    A joint that was never seen gets its position in the mean pose. Sizes are running means of the
    mean bone length, so the result for a frame depends neither on later frames nor on how frames
    are grouped.

    >>> pose = Cleaner(np.zeros((2, 3)), bones=((0, 1),))
    >>> joints, _ = pose.clean(np.array([[[0, 0, 0], [0, 1, 0]], [[0, 0, 0], [np.nan] * 3]]))
    >>> joints[1, 1].tolist()
    [0.0, 1.0, 0.0]
    """

    def __init__(
        self, mean_pose: np.ndarray, bones: Sequence[tuple[int, int]], root: int = 0
    ) -> None:
        self._mean, self._root = np.asarray(mean_pose, dtype=float), root
        ends = np.asarray(
            bones or [(root, j) for j in range(len(mean_pose)) if j != root], dtype=int
        )
        self._near, self._far = ends.reshape(-1, 2).T
        self._last = np.zeros_like(self._mean)
        self._seen = np.zeros(len(mean_pose), dtype=bool)
        self._size, self._count = 0.0, 0

    def clean(self, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, J, 3) with NaN for missing joints → (n, J, 3) without gaps, and sizes (n,)."""
        out = np.array(joints, dtype=float)
        seen = np.isfinite(out).all(axis=2)
        if not seen.all():
            out[~seen] = 0.0
            last = np.maximum.accumulate(np.where(seen, np.arange(len(out))[:, None], -1), axis=0)
            held = np.where(
                last[..., None] >= 0,
                np.take_along_axis(out, np.maximum(last, 0)[..., None], axis=0),
                self._last,
            )
            known = (last >= 0) | self._seen
            root = np.where(known[:, self._root, None], held[:, self._root], self._mean[self._root])
            out = np.where(known[..., None], held, self._mean + root[:, None])
        self._seen |= seen.any(axis=0)
        self._last = out[-1]
        lengths = np.linalg.norm(out[:, self._far] - out[:, self._near], axis=2).mean(axis=1)
        sizes = np.empty(len(out))
        for t, length in enumerate(lengths):
            self._count = min(self._count + 1, _SIZE_FRAMES)
            self._size += (length - self._size) / self._count
            sizes[t] = self._size
        return out, np.maximum(sizes, 1e-6)


def raw_joints(sequence: SkeletonSequence) -> np.ndarray:
    """(T, J, 3) float64, NaN where a joint is missing."""
    joints = np.array(sequence.joints, dtype=float)
    joints[missing_joints(sequence)] = np.nan
    return joints


class FrameFeatures:
    """Features per frame: positions and velocities of joints and pairs of joints, as smooth
    histograms.

    Coordinates x of the body, centred, turned to the front and in units of its size, become exp(-(x
    - ζ)²/2σ²) for a few pivots ζ; windows are scored by the means of such features over their
    frames.
    """

    def __init__(self, layout: Layout | None, n_joints: int) -> None:
        self.layout, self.n_joints = layout, n_joints
        self.root = 0 if layout is None or layout.root is None else layout.root
        self.bones = () if layout is None else tuple((int(a), int(b)) for a, b in layout.bones)
        sides = np.zeros(n_joints) if layout is None else layout.sides
        twins = np.arange(n_joints) if layout is None else layout.mirror
        self._right = np.flatnonzero(sides > 0)
        self._left = twins[self._right].astype(int)
        # for skeletons without a known layout
        some = range(0, n_joints, 1 + n_joints // _MOST_PAIRED)
        key = some if layout is None else layout.sets.get("key", some)
        chosen = np.asarray(list(key), dtype=int)
        self._pairs = np.array([(a, b) for i, a in enumerate(chosen) for b in chosen[:i]]).reshape(
            -1, 2
        )
        self.mean_pose = np.zeros((n_joints, 3))
        self.stats: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def cleaner(self) -> Cleaner:
        """A fresh `Cleaner`, for the start of a stream."""
        return Cleaner(self.mean_pose, self.bones, self.root)

    def fit(self, takes: Sequence[SkeletonSequence]) -> FrameFeatures:
        """Learn the mean pose, and centre and spread of every signal, from recordings, without
        using labels.
        """
        total = np.zeros((self.n_joints, 3))
        seen = np.zeros((self.n_joints, 3))
        for take in takes:  # one at a time, so that memory does not grow with them
            pose = raw_joints(take)
            centred = pose - pose[:, [self.root]]
            total += np.nansum(centred, axis=0)
            seen += np.isfinite(centred).sum(axis=0)
        if not seen.all():
            raise DataError(
                f"joint {int(np.argmin(seen.all(axis=1)))} is never seen in the training recordings"
            )
        self.mean_pose = total / seen
        sums: dict[str, np.ndarray] = {}
        n_frames = sum(take.n_frames for take in takes)
        for take in takes:
            joints, sizes = self.cleaner().clean(raw_joints(take))
            for start in range(0, len(joints), _BLOCK):
                stop = min(start + _BLOCK, len(joints))
                for name, values in self._signals(joints, sizes, start, stop).items():
                    both = np.stack([values.sum(axis=0), np.square(values).sum(axis=0)])
                    sums[name] = sums.get(name, 0.0) + both
        for name, (first, second) in sums.items():
            mean = first / n_frames
            deviation = np.sqrt(np.maximum(second / n_frames - mean**2, 0.0))
            middle = mean if name in ("position", "pairs") else np.zeros(len(mean))
            spread = (
                deviation
                if name == "root"
                else np.full(len(mean), deviation.mean() if len(mean) else 0.0)
            )
            self.stats[name] = (middle, np.maximum(spread, 1e-9))
        return self

    def encode(self, joints: np.ndarray, sizes: np.ndarray, start: int, stop: int) -> np.ndarray:
        """(stop - start, D) features of these frames of an array, in single precision; frames
        beyond its ends repeat the end.
        """
        parts = []
        for name, values in self._signals(joints, sizes, start, stop).items():
            middle, spread = self.stats[name]
            n = _PIVOTS[name]
            pivots = np.linspace(-2, 2, n)
            width = 0.9 * 4 / (n - 1)
            # single precision is exact enough for histograms
            z = ((values - middle) / (spread * np.sqrt(2) * width)).astype(np.float32)
            at = (pivots / (np.sqrt(2) * width)).astype(np.float32)
            phi = np.exp(-((z[:, :, None] - at) ** 2)).reshape(len(z), -1)
            phi *= np.float32(1 / np.sqrt(max(z.shape[1], 1) * len(_PIVOTS)))
            parts.append(phi)
        return np.concatenate(parts, axis=1)

    def _signals(
        self, joints: np.ndarray, sizes: np.ndarray, start: int, stop: int
    ) -> dict[str, np.ndarray]:
        at = np.clip(np.arange(start - AHEAD, stop + AHEAD), 0, len(joints) - 1)
        x, n = joints[at], stop - start
        smooth = (x[:-2] + x[1:-1] + x[2:]) / 3  # frames start - AHEAD + 1, ...
        now = smooth[AHEAD - 1 : AHEAD - 1 + n]
        across = (x[:, self._right] - x[:, self._left]).sum(axis=1)[:, [0, 2]]
        total = np.concatenate([np.zeros((1, 2)), np.cumsum(across, axis=0)])
        # over frames t - AHEAD ... t + AHEAD
        side = total[2 * AHEAD + 1 :] - total[: -2 * AHEAD - 1]
        norm = np.linalg.norm(side, axis=1)
        c, s = (
            np.divide(side[:, i], norm, out=np.full(n, 1.0 - i), where=norm > 0) for i in (0, 1)
        )
        scale = 1 / (2.5 * sizes[np.clip(np.arange(start, stop), 0, len(joints) - 1)])

        def turned(v: np.ndarray) -> np.ndarray:
            """(n, m, 3) in the frame of the body, in units of its size."""
            right = c[:, None] * v[..., 0] + s[:, None] * v[..., 2]
            back = c[:, None] * v[..., 2] - s[:, None] * v[..., 0]
            return np.stack([right, v[..., 1], back], axis=-1) * scale[:, None, None]

        later, earlier = smooth[AHEAD - 1 + _SPAN :][:n], smooth[AHEAD - 1 - _SPAN :][:n]
        step = later - earlier
        root = step[:, [self.root]]
        near, far = self._pairs.T if len(self._pairs) else (np.zeros(0, int), np.zeros(0, int))
        return {
            "position": turned(now - now[:, [self.root]]).reshape(n, -1),
            "velocity": turned(step - root).reshape(n, -1),
            "root": turned(root).reshape(n, -1),
            "pairs": turned(now[:, near] - now[:, far]).reshape(n, -1),
        }

    @property
    def n_features(self) -> int:
        return sum(_PIVOTS[name] * size for name, size in self._sizes().items())

    def get_state(self) -> dict[str, Any]:
        """Arrays from which `set_state` restores it."""
        state = {"mean_pose": self.mean_pose}
        for name, (middle, spread) in self.stats.items():
            if len(middle):  # one joint has no pairs
                state |= {f"middle_{name}": middle, f"spread_{name}": spread}
        return state

    def set_state(self, state: dict[str, Any]) -> FrameFeatures:
        """Restore what `get_state` returned; values that do not fit are refused."""
        self.mean_pose = state["mean_pose"]
        for name, size in self._sizes().items():
            both = (
                (state[f"middle_{name}"], state[f"spread_{name}"])
                if size
                else (np.zeros(0), np.zeros(0))
            )
            self.stats[name] = both
            if any(np.shape(values) != (size,) for values in both) or (both[1] <= 0).any():
                raise ModelFileError(
                    f"centre and spread of {name} for {self.n_joints} joints are broken"
                )
        if np.shape(self.mean_pose) != (self.n_joints, 3):
            raise ModelFileError("a mean pose of other joints")
        return self

    def _sizes(self) -> dict[str, int]:
        """Coordinates of each signal."""
        joints = 3 * self.n_joints
        return {"position": joints, "velocity": joints, "root": 3, "pairs": 3 * len(self._pairs)}
