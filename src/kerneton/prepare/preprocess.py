"""From recordings to comparable poses: the transformer that learns the reference skeleton."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kerneton.core.poses import Placing
from kerneton.data.checks import check_sequences, describe
from kerneton.data.layouts import (
    Layout,
    facing_lines,
    loose_joints,
    palm_lines,
    plain_layout,
    turning,
)
from kerneton.data.parameters import QuickParameters, check_choice, check_positive
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.data.wording import grouped, many
from kerneton.exceptions import DataError, ModelFileError, ParameterError
from kerneton.prepare.frames import Frames, as_frames, gapless, never_there

_FRAME = 0.2  # spread of two directions that are independent
_MOST_FRAMES = 10**4  # to which a model from a file may resample recordings


class Preprocess(QuickParameters, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Recordings to comparable poses; learns the reference skeleton from the training recordings.

    Parameters
    ----------
    gaps : {"fill", "drop"}
        Frames without a pose are filled from their neighbours in time, or dropped. Single missing
        joints are always filled.
    center : bool or joint
        True puts the root of the layout at the origin of every frame; the name or position of a
        joint puts that joint there. For two bodies it is the mean of both roots, without a root the
        mean of all joints.
    path : bool
        Keep the way through space that centring removes: the joint at the origin becomes its path
        from the first frame, of the same scale and turned with the body; nothing changes where the
        origin is a mean of joints.
    bones : {"reference", "size", None}
        "reference" scales every bone to its length in the reference skeleton, frame by frame, and
        keeps its direction; "size" scales the whole recording to the size of the reference skeleton
        and keeps its proportions. If the layout has joints without bones, these are estimated from
        the training recordings, see `find_bones`.
    reference : array of shape (n_bones,), optional
        Bone lengths in metres; by default the median over the training recordings.
    reach : float, optional
        Scale so that the median over training recordings of their largest coordinate, from the
        origin or, without centring, from their mean, has this value. For hands, pixels and other
        data that are not bodies in metres; needs ``bones``.
    facing : {"sequence", "frame", None}
        Turn each recording, or each frame, to face the camera. With two bodies, the first faces the
        camera when it looks at the second. Hands and other bodies without left and right are turned
        to the frame of their palm, see `kerneton.prepare.poses.palm`. Layouts without such a frame,
        and 2D recordings, stay as they are.
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
        path: bool = False,
        bones: str | None = "reference",
        reference: np.ndarray | None = None,
        reach: float | None = None,
        facing: str | None = None,
        n_frames: int | None = None,
        dtype: str | None = None,
    ) -> None:
        self.gaps = gaps
        self.center = center
        self.path = path
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
                raise ParameterError(
                    "reach scales the reference skeleton and needs bones, got bones=None"
                )
        frames = as_frames(X, gaps=self.gaps)
        self.n_joints_in_ = frames.n_joints
        layout = frames.layout
        # one frame, as of a model file, shows no distance that stays
        moves = int(frames.lengths.max()) > 1
        if layout is None or not layout.bones or (moves and loose_joints(layout)):
            from kerneton.prepare.skeleton import complete_layout

            layout = complete_layout(layout, frames.split(frames.joints), self.n_joints_in_)
        self.layout_ = layout
        if self.bones:
            n_bones = len(layout.bones)
            if self.reference is None:
                self.reference_ = np.median(frames.bone_lengths(layout.bones), axis=0)
            else:
                self.reference_ = np.asarray(self.reference)
                if (shape := self.reference_.shape) != (n_bones,):
                    raise ParameterError(
                        f"reference must contain {n_bones} bone lengths, got shape {shape}"
                    )
            if self.reach is not None:
                found = np.median(self._farthest(frames))
                self.reference_ = self.reference_ * (self.reach / found if found > 0 else 1.0)
        return self

    def transform(self, X: Iterable[Any]) -> list[SkeletonSequence]:
        """Poses of each recording, in a list of `SkeletonSequence`."""
        sequences = self.check(X)
        poses = self.place(gapless(sequences, self.gaps))
        found = []
        for sequence, joints, fps in zip(
            sequences, poses.split(poses.joints), poses.fps, strict=True
        ):
            joints = joints.astype(self.dtype or sequence.joints.dtype, copy=False)
            found.append(
                sequence.replace(joints=joints, confidence=None, fps=fps, layout=self.layout_)
            )
        return found

    def check(self, X: Iterable[Any], *, values: bool = True) -> list[SkeletonSequence]:
        """Recordings of the skeleton of the training recordings; without ``values`` only this is
        checked.
        """
        check_is_fitted(self, "n_joints_in_")
        plain = self.layout_.joints == plain_layout(self.n_joints_in_).joints
        layout = None if plain else self.layout_
        return check_sequences(
            X,
            n_joints=self.n_joints_in_,
            layout=layout,
            allow_missing=True,
            values=values,
            whole=True,
        )

    def place(self, frames: Frames) -> Frames:
        """Poses of recordings without gaps, side by side."""
        check_is_fitted(self, "n_joints_in_")
        poses = self._placed(frames, self.facing, self.dtype)
        return poses if self.n_frames is None else _resampled(poses, self.n_frames)

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
            if (
                np.shape(reference) != (len(layout.bones),)
                or not (np.asarray(reference) >= 0).all()
            ):
                raise ModelFileError(
                    f"bone lengths {np.shape(reference)} for {len(layout.bones)} bones"
                )
            self.reference_ = np.asarray(reference)

    def _farthest(self, frames: Frames) -> np.ndarray:
        """The largest coordinate of each recording, from the origin or, without centring, from the
        mean, (B,).
        """
        poses = self._placed(frames, None, "float64")
        x = poses.joints
        if self.center is False:
            x = (
                x
                - np.repeat(
                    [one.mean(axis=(0, 1)) for one in poses.split(x)], poses.lengths, axis=0
                )[:, None]
            )
        return np.maximum.reduceat(np.abs(x).max(axis=(1, 2)), poses.starts[:-1])

    def placing(self, facing: str | None) -> Placing:
        """What makes poses of one place, direction and, if "reference", of equal bones."""
        layout = self.layout_
        roots: tuple[int, ...] = ()
        if self.center is True:
            root = origin(layout)
            roots = root if isinstance(root, tuple) else (root,)
        elif self.center is not False:
            roots = (layout.index(self.center),)
        same_bones = self.bones == "reference"
        return Placing(
            roots,
            bones=layout.bones if same_bones else (),
            lengths=self.reference_ if same_bones else None,
            path=self.path,
            each_frame=facing == "frame",
            **({} if facing is None else front(layout)),
        )

    def _placed(self, frames: Frames, facing: str | None, dtype: Any) -> Frames:
        """Poses of one size around the origin, turned to the front."""
        layout, factors = self.layout_, None
        if self.bones == "size":
            size = frames.bone_lengths(layout.bones).sum(axis=1)
            factors = np.divide(self.reference_.sum(), size, out=np.ones_like(size), where=size > 0)
        placing = self.placing(facing)
        out = np.empty(frames.joints.shape, dtype or frames.joints.dtype)
        frames.each(lambda a, b: placing.of(frames.joints, frames.starts, factors, a, b, out))
        return frames.with_joints(out, layout)

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


def _resampled(poses: Frames, n_frames: int) -> Frames:
    """Every recording with this many frames, at its speed."""
    from kerneton.prepare.poses import resample

    joints = np.concatenate([resample(x, n_frames) for x in poses.split(poses.joints)])
    fps = [
        rate * (n_frames - 1) / (n - 1) if rate is not None and n > 1 and n_frames > 1 else rate
        for rate, n in zip(poses.fps, poses.lengths.tolist(), strict=True)
    ]
    return Frames(joints, np.arange(len(poses) + 1) * n_frames, fps, poses.layout, poses.n_threads)


@functools.lru_cache(maxsize=64)
def front(layout: Layout) -> dict[str, Any]:
    """What turns a body to the front, as parameters of `kerneton.core.poses.Placing`.

    One body is turned by the lines across it; of two bodies, the first looks at the second; a palm
    is turned to its own frame.

    >>> front(plain_layout(3)), front(Layout("arms", ["left_hip", "right_hip"]))
    ({}, {'turn': 'yaw', 'across': [(0, 1)]})
    """
    if turning(layout) == "full":
        along, across = palm_lines(layout)
        return {"turn": "full", "along": along, "across": across}
    if len(layout.bodies) == len(layout.roots) == 2:
        return {"turn": "yaw", "along": [tuple(layout.roots)]}
    return {"turn": "yaw", "across": facing_lines(layout)} if turning(layout) else {}


def without_gaps(sequence: SkeletonSequence, gaps: str, position: int) -> np.ndarray:
    """The joints of a recording, (T, J, 3), gaps filled or lost frames dropped.

    >>> walk = np.ones((3, 2, 3))
    >>> walk[1] = 0
    >>> without_gaps(SkeletonSequence(walk), "drop", 0).shape
    (2, 2, 3)
    """
    missing = missing_joints(sequence)
    if problem := never_there(sequence, missing):
        raise DataError(f"{describe(sequence, position)} {problem}")
    return gapless([sequence], gaps).joints


@functools.lru_cache(maxsize=64)
def origin(layout: Layout) -> int | tuple[int, ...]:
    """The joint on which poses are centred; several if only their mean is the same for both sides
    and bodies.

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
    # what a frame of the body is known for: "yaw", of a palm "full", or nothing, ""
    turns: str = "yaw"
    sides: bool = True  # left and right are known: people, in metres
    bodies: int = 1
    root: int | None = None  # of one body, between its sides

    @property
    def differs(self) -> bool:
        """Whether this is anything other than one person in 3D."""
        return (
            self.flat
            or self.turns != "yaw"
            or not self.sides
            or self.bodies > 1
            or self.n_joints == 1
        )


def skeleton_kind(sequences: Sequence[SkeletonSequence]) -> SkeletonKind:
    """The kind of skeleton in these recordings.

    >>> from kerneton.data.layouts import HAND_21
    >>> pose = np.random.default_rng(0).normal(size=(4, 21, 3))
    >>> skeleton_kind([SkeletonSequence(pose, layout=HAND_21)])
    SkeletonKind(n_joints=21, flat=False, turns='full', sides=False, bodies=1, root=0)
    """
    layout = next((s.layout for s in sequences if s.layout is not None), None)
    flat = all(is_flat(s.joints) for s in sequences)
    turns = "" if layout is None or flat else turning(layout)
    if layout is not None and turns == "full" and not _has_palm(sequences, layout):
        turns = ""
    sides = layout is not None and bool(layout.sides.any())
    bodies = 1 if layout is None else len(layout.bodies)
    root = None if layout is None or len(layout.roots) != 1 else layout.roots[0]
    if root is not None and layout is not None and layout.mirror[root] != root:
        root = None
    return SkeletonKind(sequences[0].n_joints, flat, turns, sides, bodies, root)


def _has_palm(sequences: Sequence[SkeletonSequence], layout: Layout) -> bool:
    """Whether the first recordings show two independent directions."""
    from kerneton.prepare import poses as steps

    some = [s for s in sequences[:50] if not missing_joints(s).any()]
    return (
        bool(some)
        and float(np.median([steps.palm_spread(s.joints, layout) for s in some])) > _FRAME
    )


def check_gaps(sequences: Sequence[SkeletonSequence]) -> None:
    """Refuse recordings whose gaps cannot be filled, all in one error with their positions.

    >>> check_gaps([SkeletonSequence(np.ones((3, 2, 3)))])
    """
    found = ((describe(s, i), never_there(s, missing_joints(s))) for i, s in enumerate(sequences))
    if problems := [pair for pair in found if pair[1]]:
        told = grouped(problems)
        some = f"{len(problems)} of {many(len(sequences), 'recording')} cannot be used: {told}"
        raise DataError(some if len(sequences) > 1 else told)
