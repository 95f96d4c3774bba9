"""Recordings made comparable and their signals, computed by the core.

Frames of all recordings lie one after the other, (N, J, 3); recording b has frames
``starts[b]`` to ``starts[b + 1] - 1``. Recordings ``first`` to ``last - 1`` are computed, so that
threads share the work.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence

import numpy as np

from kerneton import core

FROM_FIRST, FROM_MEAN, FROM_MIDDLE = 0, 1, 2  # origins of `displacement`
TURNS = {"": 0, "yaw": 1, "full": 2}
Pairs = Sequence[tuple[int, int]]


class _Struct(ctypes.Structure):
    """kn_poses of the header."""

    _fields_ = (
        ("frames", core.pointer),
        ("n_joints", core.int64),
        ("starts", core.pointer),
        ("factors", core.pointer),
        ("bones", core.pointer),
        ("lengths", core.pointer),
        ("n_bones", core.int64),
        ("roots", core.pointer),
        ("n_roots", core.int64),
        ("path", core.int32),
        ("turn", core.int32),
        ("each_frame", core.int32),
        ("unused", core.int32),
        ("across", core.pointer),
        ("n_across", core.int64),
        ("along", core.pointer),
        ("n_along", core.int64),
    )


def find_missing(frames: np.ndarray, confidence: np.ndarray | None = None) -> np.ndarray:
    """Which joints are NaN, of no confidence, or in a frame of zeros, (N, J) bool.

    >>> frames = np.ones((3, 2, 3))
    >>> frames[1] = 0
    >>> frames[2, 1, 0] = np.nan
    >>> find_missing(frames).tolist()
    [[False, False], [True, True], [False, True]]
    """
    frames, missing = np.ascontiguousarray(frames), np.empty(frames.shape[:2], np.bool_)
    if confidence is not None:
        confidence = np.ascontiguousarray(confidence, frames.dtype)
    given = core.address(frames), core.address(confidence), *frames.shape[:2]
    _find_missing(core.precision(frames.dtype), *given, core.address(missing))
    return missing


def fill_gaps(
    frames: np.ndarray, missing: np.ndarray, starts: np.ndarray, first: int, last: int
) -> None:
    """Missing joints linearly from their neighbours in time, in place; the ends take the nearest.

    >>> track = np.array([0.0, np.nan, 2.0]).reshape(3, 1, 1).repeat(3, axis=2)
    >>> fill_gaps(track, find_missing(track), np.array([0, 3]), 0, 1)
    >>> track[:, 0, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    missing, starts = np.ascontiguousarray(missing, np.bool_), _whole(starts)
    given = core.address(missing), core.address(starts), frames.shape[1], first, last
    _fill_gaps(core.precision(frames.dtype), core.address(frames), *given)


def motion(frames: np.ndarray, fps: float | None) -> np.ndarray:
    """How much each joint of a recording counts at each frame where something is divided between
    joints.

    ``(a² + p²)²``, a the distance from the joint's usual place, p how far it moves in a fifth of a
    second; (T, J), never zero.

    >>> motion(np.zeros((4, 2, 3)), 30).shape
    (4, 2)
    """
    frames = np.ascontiguousarray(frames)
    n_frames, n_joints, _ = frames.shape
    out = np.empty((n_frames, n_joints))
    given = core.address(frames), n_frames, n_joints, fps or 0.0, core.room(8 * n_frames)
    _motion(core.precision(frames.dtype), *given, core.address(out))
    return out


def bone_lengths(
    frames: np.ndarray, starts: np.ndarray, bones: Pairs, first: int, last: int, out: np.ndarray
) -> None:
    """Median length of each bone (parent, child) over each recording, into rows of (B, n_bones).

    >>> frames = np.array([[[0, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 3, 0]]], float)
    >>> bone_lengths(frames, np.array([0, 2]), [(0, 1)], 0, 1, out := np.empty((1, 1)))
    >>> out.tolist()
    [[2.0]]
    """
    frames, starts, ends = np.ascontiguousarray(frames), _whole(starts), _pairs(bones)
    room = core.room(8 * _longest(starts, first, last))
    given = core.address(starts), frames.shape[1], core.address(ends), len(ends), first, last, room
    _bone_lengths(core.precision(frames.dtype), core.address(frames), *given, core.address(out))


class Placing:
    """How poses are made comparable: one size, one place, one direction.

    Parameters
    ----------
    roots : sequence of int
        The mean of these joints is put at the origin of every frame.
    bones, lengths : pairs (parent, child), array of shape (n_bones,), optional
        New lengths of the bones, which keep their directions.
    path : bool
        The only root keeps its way from the first frame.
    turn : {"", "yaw", "full"}
        Yaw: about the vertical, from pairs of joints from left to right (``across``) and along
        the view. Full: the mean of pairs ``along`` becomes y, that of pairs ``across`` z.
    each_frame : bool
        Turn each frame by itself.

    Examples
    --------
    >>> frames = np.array([[[1, 1, 1], [1, 1, 3]]], float)
    >>> out = Placing([0], turn="yaw", across=[(0, 1)]).of(frames, np.array([0, 1]), None, 0, 1)
    >>> out.tolist()
    [[[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]]
    """

    def __init__(
        self,
        roots: Sequence[int] = (),
        *,
        bones: Pairs = (),
        lengths: np.ndarray | None = None,
        path: bool = False,
        turn: str = "",
        each_frame: bool = False,
        across: Pairs = (),
        along: Pairs = (),
    ) -> None:
        self.roots, self.bones = np.asarray(roots, np.int64).reshape(-1), _pairs(bones)
        self.lengths = None if lengths is None else np.ascontiguousarray(lengths, np.float64)
        self.path, self.turn, self.each_frame = (
            path and len(self.roots) == 1,
            TURNS[turn],
            each_frame,
        )
        self.across, self.along = _pairs(across), _pairs(along)

    def of(
        self,
        frames: np.ndarray,
        starts: np.ndarray,
        factors: np.ndarray | None,
        first: int,
        last: int,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Poses of recordings without gaps, each scaled by its factor, into ``out`` of either
        precision.
        """
        frames, starts = np.ascontiguousarray(frames), _whole(starts)
        out = np.empty_like(frames) if out is None else out
        factors = None if factors is None else np.ascontiguousarray(factors, np.float64)
        given = _Struct(
            core.address(frames),
            frames.shape[1],
            core.address(starts),
            core.address(factors),
            core.address(self.bones),
            core.address(self.lengths),
            len(self.bones),
            core.address(self.roots),
            len(self.roots),
            self.path,
            self.turn,
            self.each_frame,
            0,
            core.address(self.across),
            len(self.across),
            core.address(self.along),
            len(self.along),
        )
        room = core.room(_poses_room(_longest(starts, first, last), frames.shape[1]))
        kinds = core.precision(frames.dtype), core.precision(out.dtype)
        _place_poses(*kinds, ctypes.addressof(given), first, last, room, core.address(out))
        return out


@functools.cache
def taps(order: int) -> np.ndarray:
    """Weights of frames s - 4, ..., s + 4 in the first or second derivative of a Gaussian one frame
    wide.

    >>> taps(1).round(3).tolist()
    [-0.001, -0.013, -0.108, -0.242, 0.0, 0.242, 0.108, 0.013, 0.001]
    """
    k = np.arange(-4.0, 5.0)
    weights = np.exp(-(k**2) / 2)
    return weights / weights.sum() * (k if order == 1 else k**2 - 1)


def derivative(
    frames: np.ndarray,
    starts: np.ndarray,
    order: int,
    rates: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    """First or second derivative in time, times the rate (B,) of each recording, into ``out``."""
    starts, rates = _whole(starts), np.ascontiguousarray(rates, np.float64)
    given = core.address(starts), frames.shape[1], core.address(taps(order)), core.address(rates)
    _derivative(
        core.precision(frames.dtype), core.address(frames), *given, first, last, core.address(out)
    )


def directions(frames: np.ndarray, parents: np.ndarray | None = None) -> np.ndarray:
    """Unit vectors (N, J, 3) from each joint's parent, zero where that is negative, or from the
    origin.

    >>> directions(np.array([[[3.0, 4.0, 0.0]]])).round(9).tolist()
    [[[0.6, 0.8, 0.0]]]
    """
    frames = np.ascontiguousarray(frames)
    out, parents = np.empty_like(frames), None if parents is None else _whole(parents)
    given = core.address(frames), *frames.shape[:2], core.address(parents), core.address(out)
    _directions(core.precision(frames.dtype), *given)
    return out


def displacement(
    frames: np.ndarray, starts: np.ndarray, origin: int, first: int, last: int, out: np.ndarray
) -> None:
    """Displacement from the first pose, the mean pose, or the mean of all joints and frames."""
    starts, room = _whole(starts), core.room(24 * frames.shape[1])
    given = core.address(starts), frames.shape[1], origin, first, last, room, core.address(out)
    _displacement(core.precision(frames.dtype), core.address(frames), *given)


def _whole(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.int64)


def _pairs(pairs: Pairs) -> np.ndarray:
    return np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)


def _longest(starts: np.ndarray, first: int, last: int) -> int:
    return int(np.diff(starts[first : last + 1]).max(initial=0))


_find_missing = core.function(
    "kn_find_missing",
    *(core.int32, core.pointer, core.pointer, core.int64, core.int64, core.pointer),
    result=core.int64,
)
_fill_gaps = core.function(
    "kn_fill_gaps",
    *(core.int32, core.pointer, core.pointer, core.pointer, core.int64, core.int64, core.int64),
    result=None,
)
_bone_lengths = core.function(
    "kn_bone_lengths",
    *(core.int32, core.pointer, core.pointer, core.int64, core.pointer, core.int64),
    *(core.int64, core.int64, core.pointer, core.pointer),
    result=None,
)
_motion = core.function(
    "kn_motion",
    *(core.int32, core.pointer, core.int64, core.int64, core.double, core.pointer, core.pointer),
    result=None,
)
_poses_room = core.function("kn_poses_room", core.int64, core.int64, result=core.int64)
_place_poses = core.function(
    "kn_place_poses",
    *(core.int32, core.int32, core.pointer, core.int64, core.int64, core.pointer, core.pointer),
    result=None,
)
_derivative = core.function(
    "kn_derivative",
    *(core.int32, core.pointer, core.pointer, core.int64, core.pointer, core.pointer),
    *(core.int64, core.int64, core.pointer),
    result=None,
)
_directions = core.function(
    "kn_directions",
    *(core.int32, core.pointer, core.int64, core.int64, core.pointer, core.pointer),
    result=None,
)
_displacement = core.function(
    "kn_displacement",
    *(core.int32, core.pointer, core.pointer, core.int64, core.int32),
    *(core.int64, core.int64, core.pointer, core.pointer),
    result=None,
)
