"""Poses made comparable, each step a pure function on arrays: root, bones, sides, facing, frames.

`kerneton.kernels.compiled.poses` computes the same for many recordings at a time.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kerneton.data.layouts import Layout
from kerneton.data.layouts import can_turn as can_turn
from kerneton.data.layouts import facing_lines as facing_lines
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import fill_gaps as fill_gaps
from kerneton.data.validation import missing_joints as missing_joints
from kerneton.exceptions import ParameterError


def __getattr__(name: str) -> Any:
    """Names that were here in earlier versions."""
    if name not in ("SkeletonKind", "is_flat", "origin", "skeleton_kind"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kerneton.prepare import preprocess

    return getattr(preprocess, name)


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
    """Rotate about the vertical axis by an angle in radians, the same for all frames or one per frame.

    >>> turn(np.array([[[1.0, 5.0, 0.0]]]), np.pi / 2).round(6).tolist()
    [[[0.0, 5.0, -1.0]]]
    """
    c, s = (np.asarray(f(angle), dtype=joints.dtype)[..., None] for f in (np.cos, np.sin))
    x, z = joints[..., 0], joints[..., 2]
    return np.stack([c * x + s * z, joints[..., 1], c * z - s * x], axis=-1)


def facing(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """The yaw of the body, in radians, from the lines through both hips and both shoulders.

    Without hips and shoulders, all pairs of left and right joints are used. For two bodies it is the yaw of the first
    as if it looked at the second. For a whole recording it is the direction of the geometric median of the lines of all
    frames, which is robust to a few bad frames and rotates exactly with the recording.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> pose = np.zeros((1, 15, 3)); pose[:, 12] = [0.3, 0, 0]
    >>> round(float(facing(turn(pose, 0.5), FLORENCE_15)), 6)
    0.5
    """
    if not can_turn(layout):
        raise ParameterError(
            f"layout {layout.name!r} has no left and right joints to find the facing direction"
        )
    if len(layout.bodies) == len(layout.roots) == 2:
        first, second = layout.roots
        look = joints[:, second] - joints[:, first]
        flats = [look[:, [2, 0]] * np.asarray([-1, 1], dtype=joints.dtype)]  # to the right of that direction
    else:
        flats = [(joints[:, right] - joints[:, left])[:, [0, 2]] for left, right in facing_lines(layout)]
    lines = []
    for flat in flats:
        norm = np.linalg.norm(flat, axis=1, keepdims=True)
        lines.append(np.divide(flat, norm, out=np.zeros_like(flat), where=norm > 0))
    across = np.sum(lines, axis=0)  # (T, 2): x, z
    if not per_frame:
        across = _geometric_median(across)
    return np.arctan2(-across[..., 1], across[..., 0])


def _geometric_median(points: np.ndarray) -> np.ndarray:
    """Twenty steps of Weiszfeld's iteration from the mean; (n, 2) → (2,)."""
    rows = np.ones((3, len(points)))  # x, y and 1: one product gives the weighted sums and the sum of weights
    rows[:2] = points.T
    median = rows.mean(axis=1)
    for _ in range(20):
        apart = rows - median[:, None]
        apart *= apart
        weight = apart[0]
        weight += apart[1]
        np.maximum(np.sqrt(weight, out=weight), 1e-6, out=weight)
        median = rows @ np.reciprocal(weight, out=weight)
        median /= median[2]
    return median[:2].astype(points.dtype)


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
