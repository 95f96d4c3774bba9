"""A recording as a camera sees it: where the camera stands, what it sees, and the floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import describe
from kerneton.exceptions import DataError

_YAW, _ELEVATION = np.deg2rad(25), np.deg2rad(12)
_PAIRS = ("shoulder", "hip", "elbow", "knee", "eye", "ear")  # sides that tell where a body faces


@dataclass
class Scene:
    """A recording as the camera sees it: right, up and nearness (T, J, 3) of the joints, and the floor below."""

    sequence: SkeletonSequence
    plane: np.ndarray
    floor: np.ndarray  # (n, 2, 2) lines
    low: np.ndarray  # (2,) corners of what is shown
    high: np.ndarray

    @classmethod
    def of(cls, sequence: SkeletonSequence) -> Scene:
        """Choose the camera and project every frame."""
        joints = _seen(sequence)
        if np.isnan(joints).all():
            raise DataError(f"{describe(sequence, 0)} has no measured joint to draw")
        flat = not np.nan_to_num(joints[..., 2]).any()
        view = _camera(facing(sequence), flat=flat)
        points = joints.reshape(-1, 3)[~np.isnan(joints).any(axis=-1).ravel()]
        # A few frames gone astray must not shrink the rest.
        low3, high3 = np.percentile(points, [0.5, 99.5], axis=0)
        slack = 0.15 * (high3 - low3).max()
        points = np.clip(points, low3 - slack, high3 + slack)
        lowest = np.nanmin(np.where(np.isnan(joints[..., 1]), np.inf, joints[..., 1]), axis=1)
        floor = _floor(points, float(np.median(lowest[np.isfinite(lowest)])), view[:2], flat=flat)
        seen = np.concatenate([points @ view[:2].T, floor.reshape(-1, 2)])
        low, high = seen.min(axis=0), seen.max(axis=0)
        margin = 0.04 * max(float((high - low).max()), 1e-9)
        room = np.array([margin, 2.5 * margin])  # below stands the time
        return cls(sequence, joints @ view.T, floor, low - room, high + margin)

    def inches(self, height: float, *, narrowest: float, widest: float) -> tuple[float, float]:
        """The size of a picture of this height that keeps the proportions."""
        width = height * (self.high[0] - self.low[0]) / (self.high[1] - self.low[1])
        if width > widest:
            height, width = max(height * widest / width, 0.3 * height), widest
        return max(width, narrowest), height

    def clock(self, t: int) -> str:
        """The time of a frame, or its number."""
        time = f"{t / self.sequence.fps:.2f} s" if self.sequence.fps else f"frame {t}"
        return f"{time}, missing" if np.isnan(self.plane[t]).all() else time


def facing(sequence: SkeletonSequence) -> np.ndarray:
    """The horizontal direction (3,) that the body faces over the recording; towards the camera if unknown.

    Up crossed with the direction from the right to the left side points backwards.

    >>> from kerneton.data.layouts import Layout
    >>> sides = Layout("pair", ["left_hip", "right_hip"])
    >>> facing(SkeletonSequence([[[1, 0, 0], [-1, 0, 0]]], layout=sides)).tolist()
    [0.0, 0.0, 1.0]
    """
    across = np.zeros(3)
    names = sequence.layout.joints if sequence.layout is not None else ()
    joints = _seen(sequence)
    for part in _PAIRS:
        if f"left_{part}" in names and f"right_{part}" in names:
            left, right = (joints[:, names.index(f"{side}_{part}")] for side in ("left", "right"))
            across += np.nansum(left - right, axis=0)
        if part in ("hip", "knee", "ear") and np.hypot(across[0], across[2]) > 1e-6:
            break  # the trunk tells best, limbs and face only where it is not there
    length = np.hypot(across[0], across[2])
    return (
        np.array([0.0, 0.0, -1.0]) if length < 1e-6 else np.array([-across[2], 0.0, across[0]]) / length + 0.0
    )


def _camera(toward: np.ndarray, *, flat: bool) -> np.ndarray:
    """(3, 3) the picture's right and up and the way to the camera, which stands where the body looks."""
    up = np.array([0.0, 1.0, 0.0])
    yaw, elevation = (0.0, 0.0) if flat else (_YAW, _ELEVATION)
    toward = np.array([0.0, 0.0, -1.0]) if flat else toward
    toward = np.cos(yaw) * toward + np.sin(yaw) * np.cross(up, toward)
    right = np.cross(up, toward)
    above = np.cos(elevation) * up - np.sin(elevation) * toward
    return np.stack([right, above, np.cross(right, above)])


def _floor(points: np.ndarray, ground: float, view: np.ndarray, *, flat: bool) -> np.ndarray:
    """Lines (n, 2, 2) of a grid at height ``ground``, on the picture's plane; one line for flat recordings."""
    low, high = points.min(axis=0), points.max(axis=0)
    step = _round_step((high - low).max() / 4)
    (x0, _, z0), (x1, _, z1) = np.floor(low / step) * step, np.ceil(high / step) * step
    if flat:
        lines = [[(low[0] - step / 2, ground, low[2]), (high[0] + step / 2, ground, low[2])]]
    else:
        lines = [[(x, ground, z0), (x, ground, z1)] for x in np.arange(x0, x1 + step / 2, step)]
        lines += [[(x0, ground, z), (x1, ground, z)] for z in np.arange(z0, z1 + step / 2, step)]
    return np.array(lines) @ view.T


def _round_step(size: float) -> float:
    """The largest of 1, 2, 5, 10, ... that is not above a size."""
    if not size > 1e-12:
        return 1.0
    ten = 10.0 ** np.floor(np.log10(size))
    return float(max(m for m in (1, 2, 5) if m * ten <= size * (1 + 1e-9)) * ten)


def _seen(sequence: SkeletonSequence) -> np.ndarray:
    """Joints (T, J, 3) with NaN for what is missing, frames of zeros included."""
    joints = np.array(sequence.joints, dtype=float)
    gone = ~np.isfinite(joints).all(axis=2) | (joints == 0).all(axis=(1, 2))[:, None]
    if sequence.confidence is not None:
        gone |= sequence.confidence == 0
    joints[gone] = np.nan
    return joints
