"""Poses made comparable, each step a pure function on arrays: root, bones, sides, facing, frames.

`kerneton.core.poses` computes the same for many recordings at a time.
"""

from __future__ import annotations

import functools

import numpy as np

from kerneton.core import poses as core
from kerneton.data.layouts import Layout, facing_lines, palm_lines, turning
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError


def center(joints: np.ndarray, root: int | tuple[int, ...]) -> np.ndarray:
    """Move the root joint of every frame, or the mean of several joints, to the origin."""
    if isinstance(root, tuple):
        return joints - joints[:, root].mean(axis=1, keepdims=True)
    return joints - joints[:, root : root + 1]


def bone_lengths(joints: np.ndarray, layout: Layout) -> np.ndarray:
    """Median length of each bone over the frames, (n_bones,)."""
    parents, children = _ends(layout.bones)
    bones = joints.take(children, axis=1) - joints.take(parents, axis=1)
    return _median(np.sqrt(np.einsum("tjk,tjk->tj", bones, bones)))


@functools.lru_cache(maxsize=64)
def _ends(bones: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Parents and children, (2, n_bones)."""
    return np.asarray(bones, dtype=int).reshape(-1, 2).T


def _median(x: np.ndarray) -> np.ndarray:
    """``np.median(x, axis=0)`` without its checks, which take longer than the median itself."""
    half = len(x) // 2
    low = half if len(x) % 2 else half - 1
    middle = np.partition(x, (low, half), axis=0)
    return (middle[low] + middle[half]) / 2


def equal_bones(joints: np.ndarray, layout: Layout, lengths: np.ndarray) -> np.ndarray:
    """Give every bone its reference length and keep its direction, rebuilding outwards from the
    root.

    A bone of length zero has no direction: its end stays on its start.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.random.default_rng(0).normal(size=(4, 15, 3))
    >>> bone_lengths(equal_bones(pose, FLORENCE_15, np.full(14, 0.3)), FLORENCE_15).round(6).max()
    np.float64(0.3)
    """
    out = joints.copy()
    for (parent, child), length in zip(layout.bones, lengths, strict=True):
        bone = joints[:, child] - joints[:, parent]
        norm = np.linalg.norm(bone, axis=1, keepdims=True)
        scale = np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0)
        out[:, child] = out[:, parent] + bone * scale
    return out


def equal_size(joints: np.ndarray, layout: Layout, lengths: np.ndarray) -> np.ndarray:
    """Scale a recording about the origin to the reference's total bone length; proportions stay.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.random.default_rng(0).normal(size=(4, 15, 3))
    >>> bone_lengths(equal_size(pose, FLORENCE_15, np.full(14, 0.3)), FLORENCE_15).mean().round(6)
    np.float64(0.3)
    """
    size = bone_lengths(joints, layout).sum()
    return joints * joints.dtype.type(lengths.sum() / size) if size > 0 else joints


def mirror(sequence: SkeletonSequence) -> SkeletonSequence:
    """The mirror image of a recording: x changes sign, left and right joints are exchanged.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = SkeletonSequence(
    ...     np.random.default_rng(0).normal(size=(2, 15, 3)), layout=FLORENCE_15
    ... )
    >>> bool(np.array_equal(mirror(mirror(pose)).joints, pose.joints))
    True
    """
    if sequence.layout is None:
        raise ParameterError(
            f"mirroring {sequence.name or 'a recording'} needs a layout with left and right"
        )
    twin = sequence.layout.mirror
    joints = sequence.joints[:, twin] * np.asarray([-1, 1, 1], dtype=sequence.joints.dtype)
    confidence = None if sequence.confidence is None else sequence.confidence[:, twin]
    return sequence.replace(joints=joints, confidence=confidence)


def turn(joints: np.ndarray, angle: float | np.ndarray) -> np.ndarray:
    """Rotate about the vertical axis by an angle in radians, the same for all frames or one per
    frame.

    >>> turn(np.array([[[1.0, 5.0, 0.0]]]), np.pi / 2).round(6).tolist()
    [[[0.0, 5.0, -1.0]]]
    """
    c, s = (np.asarray(f(angle), dtype=joints.dtype)[..., None] for f in (np.cos, np.sin))
    x, z = joints[..., 0], joints[..., 2]
    return np.stack([c * x + s * z, joints[..., 1], c * z - s * x], axis=-1)


def facing(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """The yaw of the body, in radians, from the lines through both hips and both shoulders.

    Without hips and shoulders, all pairs of left and right joints are used. For two bodies it is
    the yaw of the first as if it looked at the second. For a whole recording it is the direction of
    the geometric median of the lines of all frames, which is robust to a few bad frames and rotates
    exactly with the recording.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.zeros((1, 15, 3))
    >>> pose[:, 12] = [0.3, 0, 0]
    >>> round(float(facing(turn(pose, 0.5), FLORENCE_15)), 6)
    0.5
    """
    if turning(layout) != "yaw":
        raise ParameterError(
            f"layout {layout.name!r} has no left and right joints to find the facing direction"
        )
    if len(layout.bodies) == len(layout.roots) == 2:
        first, second = layout.roots
        look = joints[:, second] - joints[:, first]
        # to the right of that direction
        flats = [look[:, [2, 0]] * np.asarray([-1, 1], dtype=joints.dtype)]
    else:
        flats = [
            (joints[:, right] - joints[:, left])[:, [0, 2]] for left, right in facing_lines(layout)
        ]
    lines = []
    for flat in flats:
        norm = np.linalg.norm(flat, axis=1, keepdims=True)
        lines.append(np.divide(flat, norm, out=np.zeros_like(flat), where=norm > 0))
    across = np.sum(lines, axis=0)  # (T, 2): x, z
    if not per_frame:
        across = _geometric_median(across)
    return np.arctan2(-across[..., 1], across[..., 0])


def _geometric_median(points: np.ndarray) -> np.ndarray:
    """Twenty steps of Weiszfeld's iteration from the mean; (n, d) → (d,)."""
    d = points.shape[1]
    # and 1: one product gives the weighted sums and the sum of weights
    rows = np.ones((d + 1, len(points)))
    rows[:d] = points.T
    median = rows.mean(axis=1)
    for _ in range(20):
        apart = rows - median[:, None]
        apart *= apart
        weight = apart.sum(axis=0)
        np.maximum(np.sqrt(weight, out=weight), 1e-6, out=weight)
        median = rows @ np.reciprocal(weight, out=weight)
        median /= median[d]
    return median[:d].astype(points.dtype)


def palm(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """The frame of a palm, (3, 3) or (T, 3, 3): rows are its normal, the direction along it, and
    the one across.

    For a whole recording the two directions are the geometric median over the frames. A left hand's
    frame is the mirror image of a right hand's with the normal reversed, so mirroring (x changes
    its sign) exchanges hands.

    >>> from kerneton.data.layouts import HAND_20
    >>> pose = np.random.default_rng(0).normal(size=(5, 20, 3))
    >>> np.allclose(palm(pose, HAND_20) @ palm(pose, HAND_20).T, np.eye(3))
    True
    """
    both = _palm_directions(joints, layout)
    if not per_frame:
        both = _geometric_median(both)[None]
    along = _unit(both[:, :3], [0, 1, 0])
    across = both[:, 3:] - (both[:, 3:] * along).sum(axis=1, keepdims=True) * along
    across = _unit(across, _unit(np.cross(along, [1, 0, 0]), [0, 0, 1]))
    frame = np.stack([np.cross(along, across), along, across], axis=1)
    return frame if per_frame else frame[0]


def palm_spread(joints: np.ndarray, layout: Layout) -> float:
    """How independent the two directions of a palm are: 1 at right angles, 0 on a line or if they
    change all the time.
    """
    both = _geometric_median(_palm_directions(joints, layout))
    return float(np.linalg.norm(np.cross(both[:3], both[3:])))


def _palm_directions(joints: np.ndarray, layout: Layout) -> np.ndarray:
    """Unit vectors along and across a palm in every frame, (T, 6)."""
    axes = []
    for lines in palm_lines(layout):
        starts, ends = np.asarray(lines).T
        mean = (joints[:, ends] - joints[:, starts]).mean(axis=1)
        norm = np.linalg.norm(mean, axis=1, keepdims=True)
        axes.append(np.divide(mean, norm, out=np.zeros_like(mean), where=norm > 0))
    return np.concatenate(axes, axis=1)


def _unit(vectors: np.ndarray, otherwise: np.ndarray | list[int]) -> np.ndarray:
    """Rows of unit length; those shorter than 1e-6 become another direction."""
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(norm > 1e-6, vectors / np.maximum(norm, 1e-6), otherwise)


def face_front(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """Turn the body about the vertical so that the line from left to right points along x; a palm
    to its own frame.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.random.default_rng(0).normal(size=(5, 15, 3))
    >>> np.allclose(face_front(turn(pose, 1.2), FLORENCE_15), face_front(pose, FLORENCE_15))
    True
    """
    if turning(layout) == "full":
        frame = palm(joints, layout, per_frame=per_frame).astype(joints.dtype, copy=False)
        return joints @ (frame.swapaxes(1, 2) if per_frame else frame.T)
    return turn(joints, -facing(joints, layout, per_frame=per_frame))


def resample(joints: np.ndarray, n_frames: int) -> np.ndarray:
    """Linear interpolation in time to a given number of frames.

    >>> resample(np.arange(3.0).reshape(3, 1, 1).repeat(3, axis=2), 5)[:, 0, 0].tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    at = np.linspace(0, len(joints) - 1, n_frames)
    before = np.minimum(at.astype(int), max(len(joints) - 2, 0))
    after = np.minimum(before + 1, len(joints) - 1)
    part = (at - before).astype(joints.dtype)[:, None, None]
    return joints[before] * (1 - part) + joints[after] * part


def fill_gaps(joints: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Fill missing joints linearly from their neighbours in time, (T, J, 3); the ends take the
    nearest.

    A joint that is missing throughout stays as it is.

    >>> track = np.array([0.0, np.nan, 2.0]).reshape(3, 1, 1).repeat(3, axis=2)
    >>> fill_gaps(track, np.isnan(track).any(axis=2))[:, 0, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    filled = np.array(joints, order="C")
    core.fill_gaps(filled, missing, np.array([0, len(filled)]), 0, 1)
    return filled
