"""Recordings of one skeleton whose frames lie one after the other: what all steps compute on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from kerneton.core import poses
from kerneton.data.checks import check_sequences, describe, joint_name
from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.parallel.threads import in_threads

Result = TypeVar("Result")


class Frames:
    """The frames of some recordings, one recording after the other; arrays must not be modified.

    Parameters
    ----------
    joints : array of shape (N, J, 3)
    starts : array of shape (B + 1,)
        Recording b has frames ``starts[b]`` to ``starts[b + 1] - 1``.
    fps : sequence of float or None
    layout : Layout, optional
    n_threads : int
        That steps may use.

    Examples
    --------
    >>> walks = [SkeletonSequence(np.ones((4, 2, 3)), fps=30), SkeletonSequence(np.ones((7, 2, 3)))]
    >>> frames = Frames.of(walks)
    >>> frames.joints.shape, frames.starts.tolist(), frames.fps
    ((11, 2, 3), [0, 4, 11], (30, None))
    """

    def __init__(
        self,
        joints: np.ndarray,
        starts: np.ndarray,
        fps: Sequence[float | None],
        layout: Layout | None,
        n_threads: int = 1,
    ) -> None:
        self.joints, self.starts, self.fps = joints, starts, tuple(fps)
        self.layout, self.n_threads = layout, n_threads
        self._known: dict[Any, Any] = {}

    @classmethod
    def of(cls, sequences: Sequence[SkeletonSequence], n_threads: int = 1) -> Frames:
        """Frames of checked recordings, gaps included."""
        starts = np.zeros(len(sequences) + 1, np.int64)
        np.cumsum([s.n_frames for s in sequences], out=starts[1:])
        every = [s.joints for s in sequences]
        joints = np.ascontiguousarray(every[0] if len(every) == 1 else np.concatenate(every))
        layout = next((s.layout for s in sequences if s.layout is not None), None)
        return cls(joints, starts, [s.fps for s in sequences], layout, n_threads)

    def __len__(self) -> int:
        return len(self.fps)

    @property
    def n_joints(self) -> int:
        return self.joints.shape[1]

    @property
    def lengths(self) -> np.ndarray:
        """Number of frames of each recording, (B,)."""
        return np.diff(self.starts)

    @property
    def rates(self) -> np.ndarray:
        """Frames per second of each recording, 1 if unknown, (B,)."""
        return np.array([rate or 1.0 for rate in self.fps])

    def with_joints(self, joints: np.ndarray, layout: Layout | None) -> Frames:
        """The same recordings with other joints, (N, other J, 3)."""
        return Frames(joints, self.starts, self.fps, layout, self.n_threads)

    def part(self, first: int, last: int) -> Frames:
        """Recordings first to last - 1, without copies."""
        starts = self.starts[first : last + 1]
        joints = self.joints[starts[0] : starts[-1]]
        return Frames(joints, starts - starts[0], self.fps[first:last], self.layout, self.n_threads)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Values of frames (N, ...) by recording, without copies."""
        return [values[a:b] for a, b in itertools.pairwise(self.starts.tolist())]

    def each(self, work: Callable[[int, int], Any]) -> None:
        """``work(first, last)`` for all recordings, in parts of about as many frames, on several
        threads.
        """
        n = max(1, min(self.n_threads, len(self)))
        if n == 1:
            work(0, len(self))
            return
        ends = np.searchsorted(self.starts, np.linspace(0, self.starts[-1], n + 1)).tolist()
        in_threads(lambda part: work(*part), itertools.pairwise(ends), n)

    def once(self, what: Any, make: Callable[[], Result]) -> Result:
        """A result that several steps need, computed when it is first asked for."""
        if what not in self._known:
            self._known[what] = make()
        return self._known[what]

    def bone_lengths(self, bones: Sequence[tuple[int, int]]) -> np.ndarray:
        """Median length of each bone over the frames of each recording, (B, n_bones)."""

        def make() -> np.ndarray:
            out = np.empty((len(self), len(bones)))
            self.each(lambda a, b: poses.bone_lengths(self.joints, self.starts, bones, a, b, out))
            return out

        return self.once(("bone lengths", tuple(bones)), make)


def as_frames(
    X: Iterable[Any] | Frames,
    *,
    gaps: str | None = None,
    n_joints: int | None = None,
    layout: Layout | None = None,
    n_threads: int = 1,
) -> Frames:
    """Recordings checked and side by side; with ``gaps``, these are filled or lost frames are
    dropped.

    >>> as_frames([np.ones((3, 2, 3))]).joints.shape
    (3, 2, 3)
    """
    if isinstance(X, Frames):
        return X
    sequences = check_sequences(
        X, n_joints=n_joints, layout=layout, allow_missing=gaps is not None, whole=True
    )
    return Frames.of(sequences, n_threads) if gaps is None else gapless(sequences, gaps, n_threads)


def gapless(sequences: Sequence[SkeletonSequence], gaps: str, n_threads: int = 1) -> Frames:
    """Frames of checked recordings, gaps filled ("fill") or lost frames dropped ("drop").

    >>> walk = np.ones((3, 2, 3))
    >>> walk[1] = 0
    >>> gapless([SkeletonSequence(walk)], "drop").lengths.tolist()
    [2]
    """
    frames = Frames.of(sequences, n_threads)
    trusted = all(s.confidence is None or bool((s.confidence > 0).all()) for s in sequences)
    flat = frames.joints.reshape(len(frames.joints), -1)
    if trusted and np.einsum("ij,ij->i", flat, flat).min() > 0:  # NaN compares as false
        return frames
    missing = poses.find_missing(frames.joints, None if trusted else _confidence(sequences))
    if not missing.any():
        return frames
    each = frames.split(missing)
    for i, (sequence, lost) in enumerate(zip(sequences, each, strict=True)):
        if problem := never_there(sequence, lost):
            raise DataError(f"{describe(sequence, i)} {problem}")
    joints, starts = frames.joints, frames.starts
    if gaps == "drop":
        kept = ~missing.all(axis=1)
        joints, missing = joints[kept], missing[kept]
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
    elif any(joints is s.joints for s in sequences):
        joints = joints.copy()
    whole = Frames(joints, starts, frames.fps, frames.layout, n_threads)
    whole.each(lambda a, b: poses.fill_gaps(joints, missing, starts, a, b))
    return whole


def never_there(sequence: SkeletonSequence, missing: np.ndarray) -> str:
    """The joints that no frame of a recording contains, in words; empty if there are none."""
    if not missing.any():
        return ""
    if missing.all():
        return f"contains no pose: all {sequence.n_frames} frames are missing or zero"
    never = [joint_name(sequence, int(j)) for j in np.flatnonzero(missing.all(axis=0))]
    names = ", ".join(never)
    way = "leave the recording out, or the joint in all of them (kerneton.data.absence.without_joints)"
    return f"never contains {names}; {way}" if never else ""


def _confidence(sequences: Sequence[SkeletonSequence]) -> np.ndarray:
    """Confidence of every joint, (N, J)."""
    return np.concatenate(
        [np.ones(s.joints.shape[:2]) if s.confidence is None else s.confidence for s in sequences]
    )
