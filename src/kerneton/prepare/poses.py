"""Poses made comparable, each step a pure function on arrays: gaps, root, bones, sides, facing, frames."""

from __future__ import annotations

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError


def missing_joints(sequence: SkeletonSequence) -> np.ndarray:
    """Which joints are absent, (T, J) bool: NaN, zero confidence, or part of an all-zero frame.

    A sensor that loses the body writes zeros for every joint; such a frame is no pose.

    >>> walk = np.ones((3, 2, 3)); walk[1] = 0
    >>> missing_joints(SkeletonSequence(walk)).any(axis=1).tolist()
    [False, True, False]
    """
    missing = np.isnan(sequence.joints).any(axis=2)
    if sequence.n_joints > 1:
        missing |= (sequence.joints == 0).all(axis=(1, 2))[:, None]
    if sequence.confidence is not None:
        missing |= ~(sequence.confidence > 0)
    return missing


def fill_gaps(joints: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Fill missing joints linearly from their neighbours in time, (T, J, 3); the ends take the nearest.

    A joint that is missing throughout stays as it is.

    >>> track = np.array([0.0, np.nan, 2.0]).reshape(3, 1, 1).repeat(3, axis=2)
    >>> fill_gaps(track, np.isnan(track).any(axis=2))[:, 0, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    filled = joints.copy()
    frames = np.arange(len(joints))
    for joint in np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0)):
        there = ~missing[:, joint]
        for axis in range(3):
            filled[:, joint, axis] = np.interp(frames, frames[there], joints[there, joint, axis])
    return filled


def center(joints: np.ndarray, root: int) -> np.ndarray:
    """Move the root joint of every frame to the origin.

    >>> center(np.full((2, 3, 3), 5.0), root=0).max()
    np.float64(0.0)
    """
    return joints - joints[:, root : root + 1]


def bone_lengths(joints: np.ndarray, layout: Layout) -> np.ndarray:
    """Median length of each bone over the frames, (n_bones,).

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> bone_lengths(np.zeros((4, 15, 3)), FLORENCE_15).shape
    (14,)
    """
    parents, children = np.asarray(layout.bones, dtype=int).reshape(-1, 2).T
    return np.median(np.linalg.norm(joints[:, children] - joints[:, parents], axis=2), axis=0)


def equal_bones(joints: np.ndarray, layout: Layout, lengths: np.ndarray) -> np.ndarray:
    """Give every bone its reference length and keep its direction, rebuilding outwards from the root.

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
    """Scale a recording about the origin so that its bones together are as long as the reference's; proportions stay.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.random.default_rng(0).normal(size=(4, 15, 3))
    >>> bone_lengths(equal_size(pose, FLORENCE_15, np.full(14, 0.3)), FLORENCE_15).mean().round(6)
    np.float64(0.3)
    """
    size = bone_lengths(joints, layout).sum()
    return joints * joints.dtype.type(lengths.sum() / size) if size > 0 else joints


def mirror(sequence: SkeletonSequence) -> SkeletonSequence:
    """The recording seen in a mirror: x changes sign, left and right joints change places.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = SkeletonSequence(np.random.default_rng(0).normal(size=(2, 15, 3)), layout=FLORENCE_15)
    >>> bool(np.array_equal(mirror(mirror(pose)).joints, pose.joints))
    True
    """
    if sequence.layout is None:
        raise ParameterError(f"mirroring {sequence.name or 'a recording'} needs a layout with left and right")
    twin = sequence.layout.mirror
    joints = sequence.joints[:, twin] * np.asarray([-1, 1, 1], dtype=sequence.joints.dtype)
    confidence = None if sequence.confidence is None else sequence.confidence[:, twin]
    return sequence.replace(joints=joints, confidence=confidence)


def turn(joints: np.ndarray, angle: float | np.ndarray) -> np.ndarray:
    """Rotate about the vertical by an angle in radians, one for all frames or one a frame.

    >>> turn(np.array([[[1.0, 5.0, 0.0]]]), np.pi / 2).round(6).tolist()
    [[[0.0, 5.0, -1.0]]]
    """
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    rotation = np.stack([c, zero, s, zero, one, zero, -s, zero, c], axis=-1).reshape(*np.shape(c), 3, 3)
    return joints @ np.swapaxes(rotation, -1, -2).astype(joints.dtype)


def facing(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """The yaw of the body, in radians, from the lines through both hips and both shoulders.

    Over a whole recording it is the direction of the geometric median of the frames' lines, which a few bad
    frames cannot turn, and which turns exactly as the recording turns.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.zeros((1, 15, 3)); pose[:, 12] = [0.3, 0, 0]
    >>> round(float(facing(turn(pose, 0.5), FLORENCE_15)), 6)
    0.5
    """
    lines = []
    for part in ("hip", "shoulder"):
        if {f"left_{part}", f"right_{part}"} <= set(layout.joints):
            line = joints[:, layout.index(f"right_{part}")] - joints[:, layout.index(f"left_{part}")]
            flat = line[:, [0, 2]]
            norm = np.linalg.norm(flat, axis=1, keepdims=True)
            lines.append(np.divide(flat, norm, out=np.zeros_like(flat), where=norm > 0))
    if not lines:
        raise ParameterError(
            f"layout {layout.name!r} has neither both hips nor both shoulders: it has no facing"
        )
    across = np.sum(lines, axis=0)  # (T, 2): x, z
    if not per_frame:
        across = _geometric_median(across)
    return np.arctan2(-across[..., 1], across[..., 0])


def _geometric_median(points: np.ndarray, n_iter: int = 20) -> np.ndarray:
    """Weiszfeld's iteration from the mean; (n, d) → (d,)."""
    median = points.mean(axis=0)
    for _ in range(n_iter):
        apart = points - median
        weight = 1 / np.maximum(np.sqrt((apart * apart).sum(axis=1)), 1e-6)
        median = weight @ points / weight.sum()
    return median


def face_front(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """Turn the body about the vertical so that the line from left to right points along x.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.random.default_rng(0).normal(size=(5, 15, 3))
    >>> np.allclose(face_front(turn(pose, 1.2), FLORENCE_15), face_front(pose, FLORENCE_15))
    True
    """
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
