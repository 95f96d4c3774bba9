"""From a recording to comparable poses: gaps filled, centred, equal bones, facing front.

Every step is a pure function on arrays; `Preprocess` applies them in order and learns the reference skeleton.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kerneton._validation import check_choice, check_positive, check_sequences, describe, joint_name
from kerneton.exceptions import DataError, ParameterError
from kerneton.layouts import Layout
from kerneton.sequence import SkeletonSequence


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

    >>> from kerneton.layouts import FLORENCE_15
    >>> bone_lengths(np.zeros((4, 15, 3)), FLORENCE_15).shape
    (14,)
    """
    parents, children = np.asarray(layout.bones).T
    return np.median(np.linalg.norm(joints[:, children] - joints[:, parents], axis=2), axis=0)


def equal_bones(joints: np.ndarray, layout: Layout, lengths: np.ndarray) -> np.ndarray:
    """Give every bone its reference length and keep its direction, rebuilding outwards from the root.

    A bone of length zero has no direction: its end stays on its start.

    >>> from kerneton.layouts import FLORENCE_15
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


def mirror(sequence: SkeletonSequence) -> SkeletonSequence:
    """The recording seen in a mirror: x changes sign, left and right joints change places.

    >>> from kerneton.layouts import FLORENCE_15
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

    >>> from kerneton.layouts import FLORENCE_15
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
        weight = 1 / np.maximum(np.linalg.norm(points - median, axis=1, keepdims=True), 1e-6)
        median = (points * weight).sum(axis=0) / weight.sum()
    return median


def face_front(joints: np.ndarray, layout: Layout, *, per_frame: bool = False) -> np.ndarray:
    """Turn the body about the vertical so that the line from left to right points along x.

    >>> from kerneton.layouts import FLORENCE_15
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


class Preprocess(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Recordings to comparable poses; learns the reference skeleton from the training recordings.

    Parameters
    ----------
    gaps : {"fill", "drop"}
        Frames without a pose are filled from their neighbours in time, or dropped. Single missing joints are
        filled either way. Neither is ever used as a pose.
    center : bool or joint
        True puts the layout's root at the origin of every frame; a joint's name or position puts that one.
    bones : {"reference", None}
        Scale every bone to the reference skeleton's length, direction kept.
    reference : array of shape (n_bones,), optional
        Bone lengths in metres; by default the median over the training recordings.
    facing : {"sequence", "frame", None}
        Turn each recording, or each frame, to face the camera.
    n_frames : int, optional
        Resample every recording to this many frames.
    dtype : {"float32", "float64", None}
        Precision of the poses and of all that follows; None keeps each recording's own.

    Attributes
    ----------
    reference_ : ndarray of shape (n_bones,)
        Bone lengths in use; present where ``bones`` is set.
    n_joints_in_ : int

    Examples
    --------
    >>> from kerneton.layouts import FLORENCE_15
    >>> rng = np.random.default_rng(0)
    >>> X = [SkeletonSequence(rng.normal(size=(t, 15, 3)), layout=FLORENCE_15) for t in (20, 30)]
    >>> [s.joints.shape for s in Preprocess(facing="sequence").fit_transform(X)]
    [(20, 15, 3), (30, 15, 3)]
    """

    def __init__(
        self,
        *,
        gaps: str = "fill",
        center: bool | str | int = True,
        bones: str | None = "reference",
        reference: np.ndarray | None = None,
        facing: str | None = None,
        n_frames: int | None = None,
        dtype: str | None = None,
    ) -> None:
        self.gaps = gaps
        self.center = center
        self.bones = bones
        self.reference = reference
        self.facing = facing
        self.n_frames = n_frames
        self.dtype = dtype

    def fit(self, X: Iterable[Any], y: Any = None) -> Preprocess:  # noqa: ARG002
        """Check the parameters and learn the reference skeleton."""
        check_choice("gaps", self.gaps, ["fill", "drop"])
        check_choice("bones", self.bones, ["reference", None])
        check_choice("facing", self.facing, ["sequence", "frame", None])
        check_choice("dtype", self.dtype, ["float32", "float64", None])
        if self.n_frames is not None:
            check_positive("n_frames", self.n_frames, integer=True)
        sequences = check_sequences(X, allow_missing=True)
        self.n_joints_in_ = sequences[0].n_joints
        self.layout_ = sequences[0].layout
        needs = [
            name
            for name, on in [
                ("center=True", self.center is True),
                ("bones", self.bones),
                ("facing", self.facing),
            ]
            if on
        ]
        if sequences[0].layout is None and needs:
            raise DataError(
                f"Preprocess needs a layout for {', '.join(needs)}; give the recordings one "
                "(SkeletonSequence(..., layout=kerneton.layouts.KINECT_20)) or switch these off"
            )
        if self.bones:
            layout = _layout_with_bones(sequences[0])
            if self.reference is None:
                lengths = [
                    bone_lengths(_without_gaps(s, self.gaps, i), layout) for i, s in enumerate(sequences)
                ]
                self.reference_ = np.median(lengths, axis=0)
            else:
                self.reference_ = np.asarray(self.reference)
                if self.reference_.shape != (len(layout.bones),):
                    raise ParameterError(
                        f"reference must hold {len(layout.bones)} bone lengths, "
                        f"got shape {self.reference_.shape}"
                    )
        return self

    def transform(self, X: Iterable[Any]) -> list[SkeletonSequence]:
        """Poses of each recording, in a list of `SkeletonSequence`."""
        check_is_fitted(self, "n_joints_in_")
        sequences = check_sequences(X, n_joints=self.n_joints_in_, layout=self.layout_, allow_missing=True)
        return [self._poses(sequence, i) for i, sequence in enumerate(sequences)]

    def _poses(self, sequence: SkeletonSequence, position: int) -> SkeletonSequence:
        joints, fps = _without_gaps(sequence, self.gaps, position), sequence.fps
        if self.bones:
            joints = equal_bones(joints, _layout_with_bones(sequence), self.reference_)
        if self.center is True:  # after the bones, which move every joint but the root
            joints = center(joints, _root(sequence))
        elif self.center is not False:
            joints = center(joints, _joint(sequence, self.center))
        if self.facing:
            assert sequence.layout is not None  # fit refused recordings without one
            joints = face_front(joints, sequence.layout, per_frame=self.facing == "frame")
        if self.n_frames is not None:
            if fps is not None and len(joints) > 1 and self.n_frames > 1:
                fps = fps * (self.n_frames - 1) / (len(joints) - 1)
            joints = resample(joints, self.n_frames)
        if self.dtype is not None:
            joints = joints.astype(self.dtype, copy=False)
        return sequence.replace(joints=joints, confidence=None, fps=fps)

    def set_output(self, *, transform: str | None = None) -> Preprocess:  # noqa: ARG002
        """Recordings stay recordings, whatever table the steps after this one return."""
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """<joint>_x, <joint>_y, <joint>_z of every joint."""
        check_is_fitted(self, "n_joints_in_")
        named = [str(j) for j in range(self.n_joints_in_)] if self.layout_ is None else self.layout_.joints
        return np.asarray([f"{joint}_{axis}" for joint in named for axis in "xyz"], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_joints_in_")


def _without_gaps(sequence: SkeletonSequence, gaps: str, position: int) -> np.ndarray:
    missing = missing_joints(sequence)
    joints = sequence.joints
    if not missing.any():
        return joints
    who = describe(sequence, position)
    lost = missing.all(axis=1)
    if lost.all():
        raise DataError(f"{who} holds no pose: all {sequence.n_frames} frames are missing or zero")
    never = missing.all(axis=0)
    if never.any():
        names = ", ".join(joint_name(sequence, int(j)) for j in np.flatnonzero(never))
        raise DataError(f"{who} never shows {names}; leave these joints out or repair the recording")
    if gaps == "drop":
        joints, missing = joints[~lost], missing[~lost]
    return fill_gaps(joints, missing)


def _root(sequence: SkeletonSequence) -> int:
    if sequence.layout is None or sequence.layout.root is None:
        raise DataError("centring needs a layout with a root; pass center=<joint> or center=False")
    return sequence.layout.root


def _joint(sequence: SkeletonSequence, joint: str | int) -> int:
    if sequence.layout is not None:
        return sequence.layout.index(joint)
    if isinstance(joint, str) or not 0 <= joint < sequence.n_joints:
        raise ParameterError(
            f"center={joint!r}: recordings without a layout have joints 0 to {sequence.n_joints - 1}"
        )
    return int(joint)


def _layout_with_bones(sequence: SkeletonSequence) -> Layout:
    if sequence.layout is None or not sequence.layout.bones:
        raise DataError("scaling bones needs a layout with bones; pass bones=None to leave them as they are")
    return sequence.layout
