"""Tables whose rows are joints or bodies, identified by a column."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kerneton.data.bodies import pair
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._people import say
from kerneton.files.readers._text import parse, shorten

if TYPE_CHECKING:
    from kerneton.files.readers.csv_table import _Recording

Key = tuple[str, str]  # of a recording and of a body in it
Body = tuple[SkeletonSequence, list[str]]  # and the frame of each row, as the file writes it


def joined_bodies(
    sequences: dict[Key, SkeletonSequence], frames: dict[Key, list[str]], column: str, path: Path
) -> Iterator[SkeletonSequence]:
    """Each recording as a pair of the two bodies seen longest if they share half of the frames, else as one per body.

    Bodies are named as in ``column``, ``frames`` as in the file; a body from a column ``person`` without a subject is its own subject.

    >>> ann = SkeletonSequence(np.ones((3, 1, 3)), name="nod")
    >>> frames = {("", "ann"): ["0", "1", "2"], ("", "bob"): ["1", "2", "3"]}
    >>> list(joined_bodies(dict.fromkeys(frames, ann), frames, "person", Path("nod.csv")))
    [SkeletonSequence(4 frames, 2 joints, 1 joints+1 joints, subject='ann+bob', name='nod')]
    """
    recordings: dict[str, dict[str, Body]] = {}
    for name, body in sequences:
        recordings.setdefault(name, {})[body] = sequences[name, body], frames[name, body]
    for bodies in recordings.values():
        yield from _joined(bodies, column, path)


def _joined(bodies: dict[str, Body], column: str, path: Path) -> Iterator[SkeletonSequence]:
    if column.strip().lower() == "person":
        bodies = {
            name: (s.replace(subject=s.subject or name or None), at) for name, (s, at) in bodies.items()
        }
    for name, (sequence, frames) in bodies.items() if len(bodies) > 1 else ():
        if not frames:
            raise FormatError(
                f"{path}: rows of several values of {column!r}, but no column 'frame' or 'time'"
            )
        if len(frames) != sequence.n_frames:
            raise FormatError(f"{path}: {column} {shorten(name)!r} has several rows in one frame")
    longest = sorted(bodies, key=lambda name: -len(bodies[name][1]))[:2]
    both = [bodies[name] for name in bodies if name in longest]
    shared = set.intersection(*(set(frames) for _, frames in both))
    seen = _ordered({frame for _, frames in bodies.values() for frame in frames})
    if len(both) == 2 and 2 * len(shared) >= len(seen):
        more = f"; {len(bodies) - 2} more were left out" if len(bodies) > 2 else ""
        say(f"two values of {column!r} in the same frames were read as two bodies of one recording{more}")
        yield pair(*_alike([_at(seen, *body) for body in both]))
        return
    for name, (sequence, _) in bodies.items():
        yield sequence if len(bodies) == 1 else sequence.replace(name=f"{sequence.name}_{name}")


def _ordered(frames: set[str]) -> list[str]:
    numbers = {frame: parse(frame) for frame in frames}
    return sorted(frames, key=lambda frame: (numbers[frame] is None, numbers[frame] or 0.0, frame))


def _at(seen: Sequence[str], sequence: SkeletonSequence, frames: Sequence[str]) -> SkeletonSequence:
    """A recording with a frame for each of ``seen``; joints are missing in frames that it lacks."""
    place = {frame: i for i, frame in enumerate(seen)}
    at = np.array([place[frame] for frame in frames])
    joints = np.full((len(seen), sequence.n_joints, 3), np.nan)
    confidence = np.zeros(joints.shape[:2])
    joints[at] = sequence.joints
    confidence[at] = 1.0 if sequence.confidence is None else sequence.confidence
    whole = sequence.confidence is None and len(at) == len(seen)
    segments = [(s.label, int(at[s.start]), int(at[s.stop - 1]) + 1) for s in sequence.segments]
    return sequence.replace(joints=joints, confidence=None if whole else confidence, segments=segments)


def _alike(both: Sequence[SkeletonSequence]) -> list[SkeletonSequence]:
    """Both with the frame rate of the first that has one."""
    fps = next((s.fps for s in both if s.fps is not None), None)
    return [s.replace(fps=fps) for s in both]


def fixed(points: np.ndarray, places: Sequence[Sequence[int]]) -> bool:
    """Whether joints of one name are ends of a bone: as near as the next joint, at one distance, as most of them are.

    >>> points = np.random.default_rng(0).normal(size=(9, 5, 3))
    >>> [fixed(np.hstack([points, other]), [range(5), range(5, 10)]) for other in (points + 0.1, points[::-1])]
    [True, False]
    """
    one, two = (points[:: 1 + len(points) // 200, list(own)] for own in places)
    with warnings.catch_warnings():  # joints that are never there
        warnings.simplefilter("ignore", RuntimeWarning)
        apart = np.linalg.norm(one - two, axis=2)
        mean, spread = np.nanmean(apart, axis=0), np.nanstd(apart, axis=0)
        within = np.nanmean(np.linalg.norm(one[:, :, None] - one[:, None], axis=3), axis=0)
    nearest = np.where(np.eye(len(within), dtype=bool), np.inf, within).min(axis=1)
    return bool(np.mean((mean < 1.5 * nearest) & (spread < 0.1 * mean)) > 0.5)


def gather(recording: _Recording, path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of joints, values (T, J, 4) from rows of one joint each, and a row of each frame, in order of frames."""
    from kerneton.files.readers._values import check_room

    T, J = len(recording.frames), len(recording.joints)
    check_room(path, T, J, 4)
    at = np.frombuffer(recording.at, np.int64).reshape(-1, 2)
    flat = at[:, 0] * J + at[:, 1]
    cells, counts = np.unique(flat, return_counts=True)
    if len(cells) < len(flat):
        frame, joint = divmod(int(cells[np.argmax(counts)]), J)
        raise FormatError(
            f"{path}: joint {shorten(list(recording.joints)[joint])!r} occurs {counts.max()} times "
            f"in frame {shorten(list(recording.frames)[frame])}"
        )
    values = np.full((T, J, 4), np.nan)
    values[at[:, 0], at[:, 1]] = np.frombuffer(recording.rows).reshape(-1, 4)
    row_of = np.empty(T, np.int64)
    row_of[at[:, 0]] = np.arange(len(at))
    place = [recording.frames[frame] for frame in frames_of(recording, sort=True)]
    return list(recording.joints), values[place], row_of[place]


def frames_of(recording: _Recording, *, sort: bool) -> list[str]:
    """The frames of the rows as the file writes them, in the order of their numbers if all are numbers."""
    numbers = {frame: parse(frame) for frame in recording.frames}
    if not sort or None in numbers.values():
        return list(numbers)
    return sorted(numbers, key=lambda frame: numbers[frame] or 0.0)
