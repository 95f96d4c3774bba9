"""From recordings to comparable poses: the transformer that learns the reference skeleton."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kerneton.data.layouts import Layout, can_turn, loose_joints, plain_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import (
    QuickParameters,
    check_choice,
    check_positive,
    check_sequences,
    describe,
    fill_gaps,
    grouped,
    joint_name,
    many,
    missing_joints,
)
from kerneton.exceptions import DataError, ModelFileError, ParameterError

_MOST_FRAMES = 10**4  # to which a model from a file may resample recordings


class Preprocess(QuickParameters, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Recordings to comparable poses; learns the reference skeleton from the training recordings.

    Parameters
    ----------
    gaps : {"fill", "drop"}
        Frames without a pose are filled from their neighbours in time, or dropped. Single missing joints are always
        filled.
    center : bool or joint
        True puts the root of the layout at the origin of every frame; the name or position of a joint puts that joint
        there. For two bodies it is the mean of both roots, without a root the mean of all joints.
    bones : {"reference", "size", None}
        "reference" scales every bone to its length in the reference skeleton, frame by frame, and keeps its direction;
        "size" scales the whole recording to the size of the reference skeleton and keeps its proportions. If the layout
        has joints without bones, these are estimated from the training recordings, see `find_bones`.
    reference : array of shape (n_bones,), optional
        Bone lengths in metres; by default the median over the training recordings.
    reach : float, optional
        Scale so that the median over training recordings of their largest coordinate, from the origin or, without
        centring, from their mean, has this value. For hands, pixels and other data that are not bodies in metres; needs
        ``bones``.
    facing : {"sequence", "frame", None}
        Turn each recording, or each frame, to face the camera. With two bodies, the first faces the camera when it looks
        at the second. Layouts without left and right, and 2D recordings, stay as they are.
    n_frames : int, optional
        Resample every recording to this many frames.
    dtype : {"float32", "float64", None}
        Precision of the poses and of all that follows; None keeps each recording's own.

    Attributes
    ----------
    reference_ : ndarray of shape (n_bones,)
        Bone lengths in use; present where ``bones`` is set.
    layout_ : Layout
        The recordings' layout, completed.
    n_joints_in_ : int

    Examples
    --------
    >>> from kerneton.data.layouts import FLORENCE_15
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
        reach: float | None = None,
        facing: str | None = None,
        n_frames: int | None = None,
        dtype: str | None = None,
    ) -> None:
        self.gaps = gaps
        self.center = center
        self.bones = bones
        self.reference = reference
        self.reach = reach
        self.facing = facing
        self.n_frames = n_frames
        self.dtype = dtype

    def fit(self, X: Iterable[Any], y: Any = None) -> Preprocess:  # noqa: ARG002
        """Check the parameters and learn the reference skeleton."""
        check_choice("gaps", self.gaps, ["fill", "drop"])
        check_choice("bones", self.bones, ["reference", "size", None])
        check_choice("facing", self.facing, ["sequence", "frame", None])
        check_choice("dtype", self.dtype, ["float32", "float64", None])
        if self.n_frames is not None:
            check_positive("n_frames", self.n_frames, integer=True)
        if self.reach is not None:
            check_positive("reach", self.reach)
            if not self.bones:
                raise ParameterError("reach scales the reference skeleton and needs bones, got bones=None")
        sequences = check_sequences(X, allow_missing=True)
        self.n_joints_in_ = sequences[0].n_joints
        poses = [without_gaps(sequence, self.gaps, i) for i, sequence in enumerate(sequences)]
        layout = sequences[0].layout
        moves = any(len(x) > 1 for x in poses)  # one frame, as of a model file, shows no distance that stays
        if layout is None or not layout.bones or (moves and loose_joints(layout)):
            from kerneton.prepare.skeleton import complete_layout

            layout = complete_layout(layout, poses, self.n_joints_in_)
        self.layout_ = layout
        if self.bones:
            n_bones = len(self.layout_.bones)
            if self.reference is None:
                from kerneton.prepare import poses as steps

                self.reference_ = np.median([steps.bone_lengths(x, self.layout_) for x in poses], axis=0)
            else:
                self.reference_ = np.asarray(self.reference)
                if (shape := self.reference_.shape) != (n_bones,):
                    raise ParameterError(f"reference must contain {n_bones} bone lengths, got shape {shape}")
            if self.reach is not None:
                found = np.median([self._farthest(self._placed(x)) for x in poses])
                self.reference_ = self.reference_ * (self.reach / found if found > 0 else 1.0)
        return self

    def transform(self, X: Iterable[Any]) -> list[SkeletonSequence]:
        """Poses of each recording, in a list of `SkeletonSequence`."""
        check_is_fitted(self, "n_joints_in_")
        layout = None if self.layout_.joints == plain_layout(self.n_joints_in_).joints else self.layout_
        sequences = check_sequences(X, n_joints=self.n_joints_in_, layout=layout, allow_missing=True)
        return [self._poses(sequence, i) for i, sequence in enumerate(sequences)]

    def get_state(self) -> dict[str, Any]:
        """What was learned, for a file."""
        reference = self.reference_ if self.bones and len(self.reference_) else None
        return {"n_joints": self.n_joints_in_, "layout": self.layout_, "reference": reference}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        n_joints, layout, reference = state["n_joints"], state["layout"], state["reference"]
        if isinstance(self.n_frames, int) and self.n_frames > _MOST_FRAMES:
            raise ModelFileError(f"recordings of {self.n_frames} frames, more than {_MOST_FRAMES}")
        self.fit([SkeletonSequence(np.ones((1, n_joints, 3)), layout=layout)])
        self.layout_ = layout
        if self.bones and layout.bones:
            if np.shape(reference) != (len(layout.bones),) or not (np.asarray(reference) >= 0).all():
                raise ModelFileError(f"bone lengths {np.shape(reference)} for {len(layout.bones)} bones")
            self.reference_ = np.asarray(reference)

    def _farthest(self, joints: np.ndarray) -> float:
        middle = joints.mean(axis=(0, 1)) if self.center is False else 0.0
        return float(np.abs(joints - middle).max())

    def _placed(self, joints: np.ndarray) -> np.ndarray:
        """Poses of one size around the origin."""
        from kerneton.prepare import poses as steps

        if self.bones:
            scale = steps.equal_bones if self.bones == "reference" else steps.equal_size
            joints = scale(joints, self.layout_, self.reference_)
        if self.center is True:  # after the bones, which move every joint but the root
            joints = steps.center(joints, origin(self.layout_))
        elif self.center is not False:
            joints = steps.center(joints, self.layout_.index(self.center))
        return joints

    def _poses(self, sequence: SkeletonSequence, position: int) -> SkeletonSequence:
        from kerneton.prepare import poses as steps

        joints, fps = self._placed(without_gaps(sequence, self.gaps, position)), sequence.fps
        if self.facing and can_turn(self.layout_) and not is_flat(joints):
            joints = steps.face_front(joints, self.layout_, per_frame=self.facing == "frame")
        if self.n_frames is not None:
            if fps is not None and len(joints) > 1 and self.n_frames > 1:
                fps = fps * (self.n_frames - 1) / (len(joints) - 1)
            joints = steps.resample(joints, self.n_frames)
        if self.dtype is not None:
            joints = joints.astype(self.dtype, copy=False)
        return sequence.replace(joints=joints, confidence=None, fps=fps, layout=self.layout_)

    def set_output(self, *, transform: str | None = None) -> Preprocess:  # noqa: ARG002
        """Recordings stay recordings, whatever output later steps have."""
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """<joint>_x, <joint>_y, <joint>_z of every joint."""
        check_is_fitted(self, "n_joints_in_")
        names = [f"{joint}_{axis}" for joint in self.layout_.joints for axis in "xyz"]
        return np.asarray(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_joints_in_")


def without_gaps(sequence: SkeletonSequence, gaps: str, position: int) -> np.ndarray:
    """The joints of a recording, (T, J, 3), gaps filled or lost frames dropped.

    >>> walk = np.ones((3, 2, 3)); walk[1] = 0
    >>> without_gaps(SkeletonSequence(walk), "drop", 0).shape
    (2, 2, 3)
    """
    missing = missing_joints(sequence)
    joints = sequence.joints
    if not missing.any():
        return joints
    if problem := _never_there(sequence, missing):
        raise DataError(f"{describe(sequence, position)} {problem}")
    if gaps == "drop":
        lost = missing.all(axis=1)
        joints, missing = joints[~lost], missing[~lost]
    return fill_gaps(joints, missing)


@functools.lru_cache(maxsize=64)
def origin(layout: Layout) -> int | tuple[int, ...]:
    """The joint on which poses are centred; several if only their mean is the same for both sides and bodies.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> origin(FLORENCE_15), origin(Layout("arms", ["left_a", "left_b", "right_a"], bones=[(0, 1)]))
    (2, (0, 2))
    """
    joints = sorted({joint for root in layout.roots for joint in (root, int(layout.mirror[root]))})
    return joints[0] if len(joints) == 1 else tuple(joints or range(len(layout.joints)))


def is_flat(joints: np.ndarray) -> bool:
    """Whether a recording is 2D: z is zero or unknown throughout.

    >>> is_flat(np.ones((4, 2, 3)) * [1, 1, 0]), is_flat(np.ones((4, 2, 3)))
    (True, False)
    """
    return not np.nan_to_num(joints[..., 2]).any()


@dataclass(frozen=True)
class SkeletonKind:
    """What a recogniser can use in recordings."""

    n_joints: int = 20
    flat: bool = False  # 2D: z is zero throughout
    turns: bool = True  # bodies can be turned to face the camera
    sides: bool = True  # left and right are known: people, in metres
    bodies: int = 1

    @property
    def differs(self) -> bool:
        """Whether this is anything other than one person in 3D."""
        return self.flat or not (self.turns and self.sides) or self.bodies > 1 or self.n_joints == 1


def skeleton_kind(sequences: Sequence[SkeletonSequence]) -> SkeletonKind:
    """The kind of skeleton in these recordings.

    >>> from kerneton.data.layouts import HAND_21
    >>> skeleton_kind([SkeletonSequence(np.ones((4, 21, 3)), layout=HAND_21)])
    SkeletonKind(n_joints=21, flat=False, turns=False, sides=False, bodies=1)
    """
    layout = next((s.layout for s in sequences if s.layout is not None), None)
    flat = all(is_flat(s.joints) for s in sequences)
    turns = layout is not None and not flat and can_turn(layout)
    sides = layout is not None and bool(layout.sides.any())
    bodies = 1 if layout is None else len(layout.bodies)
    return SkeletonKind(sequences[0].n_joints, flat, turns, sides, bodies)


def check_gaps(sequences: Sequence[SkeletonSequence]) -> None:
    """Refuse recordings whose gaps cannot be filled, all in one error with their positions.

    >>> check_gaps([SkeletonSequence(np.ones((3, 2, 3)))])
    """
    found = ((describe(s, i), _never_there(s, missing_joints(s))) for i, s in enumerate(sequences))
    if problems := [pair for pair in found if pair[1]]:
        told = grouped(problems)
        some = f"{len(problems)} of {many(len(sequences), 'recording')} cannot be used: {told}"
        raise DataError(some if len(sequences) > 1 else told)


def _never_there(sequence: SkeletonSequence, missing: np.ndarray) -> str:
    """The joints that no frame of a recording contains, in words; empty if there are none."""
    if not missing.any():
        return ""
    if missing.all():
        return f"contains no pose: all {sequence.n_frames} frames are missing or zero"
    never = [joint_name(sequence, int(j)) for j in np.flatnonzero(missing.all(axis=0))]
    names = ", ".join(never)
    return f"never contains {names}" if never else ""
