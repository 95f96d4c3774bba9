"""The camera of all pictures: its position, the projection of a recording, and the floor.

It stands in front of the body, a little to the side and a little above, so a left hand is on the
right of the picture. Recordings in two dimensions are seen straight from the front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerneton.data.checks import describe
from kerneton.data.layouts import Layout, loose_joints
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.data.units import LOW
from kerneton.exceptions import DataError
from kerneton.report.body import Body, part

YAW, ELEVATION = np.deg2rad(25), np.deg2rad(12)
_LOOKED_AT = 20  # recordings from which bones are estimated
_TOWARDS_CAMERA = np.array([0.0, 0.0, -1.0])
# Pairs of joints that show where a body faces: the trunk is best, then limbs, the face, and any
# other.
_FACING_PAIRS = (("shoulder", "hip"), ("elbow", "knee"), ("eye", "ear"), None)


def camera(sequence: SkeletonSequence) -> np.ndarray:
    """(3, 3) the picture's right, its up, and the direction to the camera; ``joints @ camera.T`` is
    the projection.

    >>> camera(SkeletonSequence([[[0.3, 0.2, 0.0]]])).round(
    ...     6
    ... ).tolist()  # two dimensions: x points left
    [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]
    """
    if is_flat(sequence):
        return view(_TOWARDS_CAMERA)
    return view(facing(sequence), yaw=YAW, elevation=ELEVATION)


def view(front: np.ndarray, *, yaw: float = 0.0, elevation: float = 0.0) -> np.ndarray:
    """(3, 3) like `camera`, for a camera in direction ``front``, turned by ``yaw`` and raised by
    ``elevation`` (radians).
    """
    up = np.array([0.0, 1.0, 0.0])
    toward = np.cos(yaw) * front + np.sin(yaw) * np.cross(up, front)
    right = np.cross(up, toward)
    above = np.cos(elevation) * up - np.sin(elevation) * toward
    return np.stack([right, above, np.cross(right, above)]) + 0.0


def facing(sequence: SkeletonSequence) -> np.ndarray:
    """The horizontal direction (3,) that the body faces over the recording; towards the camera if
    unknown.

    Up crossed with the direction from the right to the left side points backwards. Two bodies are
    seen from the side.

    >>> from kerneton.data.layouts import Layout, loose_joints
    >>> sides = Layout("pair", ["left_hip", "right_hip"])
    >>> facing(SkeletonSequence([[[1, 0, 0], [-1, 0, 0]]], layout=sides)).tolist()
    [0.0, 0.0, 1.0]
    """
    layout, joints = sequence.layout, seen(sequence)
    if layout is None:
        return _TOWARDS_CAMERA
    if len(layout.bodies) > 1:
        return _beside(joints, layout.bodies)
    pairs = [(i, j) for i, j in enumerate(layout.mirror.tolist()) if layout.sides[i] < 0]
    for parts in _FACING_PAIRS:
        chosen = [
            (i, j) for i, j in pairs if parts is None or part(layout.joints[i]).endswith(parts)
        ]
        across = sum(
            (np.nansum(joints[:, i] - joints[:, j], axis=0) for i, j in chosen), np.zeros(3)
        )
        length = np.hypot(across[0], across[2])
        if length > 1e-6:
            return np.array([-across[2], 0.0, across[0]]) / length + 0.0
    return _TOWARDS_CAMERA


def _beside(joints: np.ndarray, bodies: Sequence[Sequence[int]]) -> np.ndarray:
    """Across the line between two bodies, on the side of the camera, so that neither hides the
    other.
    """
    first, second = (joints[:, list(body)].reshape(-1, 3) for body in bodies[:2])
    if np.isnan(first).all() or np.isnan(second).all():
        return _TOWARDS_CAMERA
    line = np.nanmedian(second, axis=0) - np.nanmedian(first, axis=0)
    length = np.hypot(line[0], line[2])
    if length < 1e-6:
        return _TOWARDS_CAMERA
    across = np.array([-line[2], 0.0, line[0]]) / length
    return (across if across[2] <= 0 else -across) + 0.0


def seen(sequence: SkeletonSequence) -> np.ndarray:
    """Joints (T, J, 3) as float64, with NaN for what is missing."""
    joints = np.array(sequence.joints, dtype=float)
    joints[missing_joints(sequence) | ~np.isfinite(joints).all(axis=2)] = np.nan
    return joints


def is_flat(sequence: SkeletonSequence) -> bool:
    """Whether a recording has two dimensions."""
    return not np.nan_to_num(sequence.joints[..., 2]).any()


def without_strays(joints: np.ndarray) -> np.ndarray:
    """Measured points (n, 3) of joints (T, J, 3); outliers are moved near the others, so that these
    are not drawn small.
    """
    points = joints[~np.isnan(joints).any(axis=-1)]
    low, high = np.percentile(points, [0.5, 99.5], axis=0)
    slack = 0.15 * (high - low).max()
    return np.clip(points, low - slack, high + slack)


def ground(joints: np.ndarray, layout: Layout | None) -> float:
    """The height of the floor: the median over frames of the lowest joint, or the minimum for
    layouts without feet.
    """
    lowest = np.nanmin(np.where(np.isnan(joints[..., 1]), np.inf, joints[..., 1]), axis=1)
    stands = layout is None or any(part(joint) in LOW for joint in layout.joints)
    return float(np.quantile(lowest[np.isfinite(lowest)], 0.5 if stands else 0.0))


def with_bones(sequences: Sequence[SkeletonSequence]) -> list[SkeletonSequence]:
    """Recordings of one layout with bones; joints that have none are connected with those that keep
    their distance.

    >>> arm = np.random.default_rng(0).normal(size=(9, 4, 3))
    >>> len(with_bones([SkeletonSequence(arm)])[0].layout.bones)
    3
    """
    layout, n_joints = sequences[0].layout, sequences[0].n_joints
    if (layout is not None and not loose_joints(layout)) or any(
        s.n_joints != n_joints for s in sequences
    ):
        return list(sequences)
    from kerneton.prepare.skeleton import complete_layout  # slow to import, and rarely needed

    poses = [seen(s) for s in sequences[:_LOOKED_AT]]
    poses = [x for x in (x[~np.isnan(x).any(axis=(1, 2))] for x in poses) if len(x)]
    found = complete_layout(layout, poses, n_joints) if poses else layout
    return [s.replace(layout=found) if s.layout == layout else s for s in sequences]


@dataclass
class Scene:
    """A recording as the camera sees it: right, up and nearness (T, J, 3) of the joints, and the
    floor below.
    """

    sequence: SkeletonSequence
    plane: np.ndarray
    floor: np.ndarray  # (n, 2, 2) lines
    low: np.ndarray  # (2,) corners of what is shown
    high: np.ndarray

    @classmethod
    def of(cls, sequence: SkeletonSequence) -> Scene:
        """Choose the camera and project every frame."""
        (sequence,) = with_bones([sequence])
        joints = seen(sequence)
        if np.isnan(joints).all():
            raise DataError(f"{describe(sequence, 0)} has no measured joint to draw")
        axes = camera(sequence)
        points = without_strays(joints)
        floor = _floor(points, ground(joints, sequence.layout), axes[:2], flat=is_flat(sequence))
        shown = np.concatenate([points @ axes[:2].T, floor.reshape(-1, 2)])
        low, high = shown.min(axis=0), shown.max(axis=0)
        margin = 0.04 * max(float((high - low).max()), 1e-9)
        room = np.array([margin, 2.5 * margin])  # space for the time below
        above = np.array([margin, 3 * margin if Body.of(sequence).numbered else margin])
        return cls(sequence, joints @ axes.T, floor, low - room, high + above)

    def inches(self, height: float, *, narrowest: float, widest: float) -> tuple[float, float]:
        """The size of a picture of this height that keeps the proportions."""
        width = height * (self.high[0] - self.low[0]) / (self.high[1] - self.low[1])
        if width > widest:
            height, width = max(height * widest / width, 0.3 * height), widest
        return max(width, narrowest), height

    def clock(self, t: int) -> str:
        """The time of a frame, or its number, and the labels of its segments."""
        time = f"{t / self.sequence.fps:.2f} s" if self.sequence.fps else f"frame {t}"
        inside = [s.label for s in self.sequence.segments if s.start <= t < s.stop]
        return ", ".join([time, *inside, *(["missing"] if np.isnan(self.plane[t]).all() else [])])


def _floor(points: np.ndarray, height: float, axes: np.ndarray, *, flat: bool) -> np.ndarray:
    """Lines (n, 2, 2) of a grid at a height, on the picture's plane; one line for flat
    recordings.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    step = _round_step((high - low).max() / 4)
    (x0, _, z0), (x1, _, z1) = np.floor(low / step) * step, np.ceil(high / step) * step
    if flat:
        lines = [[(low[0] - step / 2, height, low[2]), (high[0] + step / 2, height, low[2])]]
    else:
        lines = [[(x, height, z0), (x, height, z1)] for x in np.arange(x0, x1 + step / 2, step)]
        lines += [[(x0, height, z), (x1, height, z)] for z in np.arange(z0, z1 + step / 2, step)]
    return np.array(lines) @ axes.T


def _round_step(size: float) -> float:
    """The largest of 1, 2, 5, 10, ... that is not above a size."""
    if not size > 1e-12:
        return 1.0
    ten = 10.0 ** np.floor(np.log10(size))
    return float(max(m for m in (1, 2, 5) if m * ten <= size * (1 + 1e-9)) * ten)
