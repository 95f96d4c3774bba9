"""Segments: which action happens in which frames of a long recording."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from kerneton.data.sequence import plain_text
from kerneton.exceptions import DataError

_SHORT = 4  # frames, too few for an action


@dataclass(frozen=True, order=True)
class Segment:
    """One action in a recording: frames start, ..., stop - 1, as in a slice.

    A segment of a single frame is a *point*: the frame in which the action is complete, where
    nobody knows when it began.

    >>> wave = Segment("wave", 30, 90)
    >>> wave.n_frames, wave.seconds(fps=30), wave.overlap(Segment("clap", 60, 120))
    (60, (1.0, 3.0), 30)
    >>> kick = Segment.at("kick", 120)
    >>> kick.is_point, kick.start, kick.stop
    (True, 120, 121)
    """

    label: str
    start: int  # first frame
    stop: int  # one past the last frame

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", plain_text(self.label))
        for field in ("start", "stop"):
            value = getattr(self, field)
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise DataError(
                    f"segment {self.label!r}: {field} must be a whole number, got {value!r}"
                )
            object.__setattr__(self, field, int(value))
        if not 0 <= self.start < self.stop:
            got = f"{self.start} to {self.stop}"
            raise DataError(f"segment {self.label!r}: expected frames 0 <= start < stop, got {got}")

    @classmethod
    def at(cls, label: str, frame: int) -> Segment:
        """The point of an action that is complete in this frame.

        >>> Segment.at("kick", 120)
        Segment(label='kick', start=120, stop=121)
        """
        whole = isinstance(frame, Integral) and not isinstance(frame, bool)
        return cls(label, frame, int(frame) + 1 if whole else frame)

    @classmethod
    def from_seconds(cls, label: str, start: float, stop: float, fps: float) -> Segment:
        """The frames nearest to two times; at least one frame.

        >>> Segment.from_seconds("wave", 1.0, 3.0, fps=30)
        Segment(label='wave', start=30, stop=90)
        """
        values = np.asarray([start, stop, fps], dtype=float)
        if not np.isfinite(values).all() or fps <= 0:
            raise DataError(
                f"segment {label!r}: expected times and a frame rate, got {start}, {stop}, {fps}"
            )
        first = round(start * fps)
        return cls(
            label, first, max(round(stop * fps), first + 1) if stop > start else round(stop * fps)
        )

    @property
    def n_frames(self) -> int:
        return self.stop - self.start

    @property
    def is_point(self) -> bool:
        """Whether only the frame in which the action is complete is known."""
        return self.stop - self.start == 1

    def seconds(self, fps: float) -> tuple[float, float]:
        """Start and stop in seconds."""
        return self.start / fps, self.stop / fps

    def overlap(self, other: Segment) -> int:
        """The number of frames that both segments share."""
        return max(0, min(self.stop, other.stop) - max(self.start, other.start))

    def iou(self, other: Segment) -> float:
        """Intersection over union of the frames.

        >>> Segment("wave", 0, 10).iou(Segment("wave", 5, 15))
        0.3333333333333333
        """
        shared = self.overlap(other)
        return shared / (self.n_frames + other.n_frames - shared)


def as_segments(values: Iterable[Any]) -> tuple[Segment, ...]:
    """Segments, (label, start, stop) triples or (label, frame) points, as a tuple in order of time.

    >>> as_segments([("clap", 5, 9), ("wave", 0, 4), ("kick", 7)])
    (Segment(label='wave', start=0, stop=4), Segment(label='clap', start=5, stop=9),
     Segment(label='kick', start=7, stop=8))
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise DataError(
            f"expected segments or (label, start, stop) triples, got {type(values).__name__}"
        )
    segments = []
    for value in values:
        ready = hasattr(value, "label")
        if not ready and (
            isinstance(value, (str, bytes))
            or not isinstance(value, Sequence)
            or len(value) not in (2, 3)
        ):
            raise DataError(
                f"expected a segment, (label, start, stop) or (label, frame), got {value!r}"
            )
        if not ready:
            value = Segment.at(*value) if len(value) == 2 else Segment(*value)
        segments.append(value)
    return tuple(sorted(segments, key=lambda s: (s.start, s.stop, s.label)))


def segment_problems(segments: Sequence[Segment], n_frames: int) -> list[str]:
    """What is wrong with the segments of one recording: those outside it, those that overlap, and
    points of two actions in one frame.

    >>> segment_problems(as_segments([("wave", 0, 40), ("clap", 30, 120)]), n_frames=100)
    ["segment 'clap' ends at frame 120, the recording at 100",
     "segments 'wave' (0 to 40) and 'clap' (30 to 120) overlap in 10 frames"]
    """
    problems = []
    for s in segments:
        if s.start >= n_frames:
            problems.append(
                f"segment {s.label!r} starts at frame {s.start}, the recording ends at {n_frames}"
            )
        elif s.stop > n_frames:
            problems.append(
                f"segment {s.label!r} ends at frame {s.stop}, the recording at {n_frames}"
            )
    ordered = sorted(segments, key=lambda s: (s.start, s.stop))
    latest = ordered[0] if ordered else None
    for s in ordered[1:]:
        assert latest is not None
        if latest.is_point or s.is_point:  # a point inside a segment is no mistake
            if (latest.start, latest.stop) == (s.start, s.stop):
                problems.append(
                    f"points {latest.label!r} and {s.label!r} are in the same frame {s.start}"
                )
        elif shared := latest.overlap(s):
            problems.append(
                f"segments {latest.label!r} ({latest.start} to {latest.stop}) and "
                f"{s.label!r} ({s.start} to {s.stop}) overlap in {shared} frames"
            )
        if s.stop > latest.stop:
            latest = s
    return problems


def short_segments(segments: Iterable[Segment]) -> list[str]:
    """A warning where nine of ten segments are too short for actions: seconds that were read as
    frames. Points are not counted.

    >>> short_segments([Segment("wave", 1, 3), Segment("bow", 4, 6)])
    ['2 of 2 segments have at most 4 frames: are these seconds? Name the columns start_s and end_s']
    """
    lengths = [s.n_frames for s in segments if not s.is_point]
    short = sum(n <= _SHORT for n in lengths)
    if not short or 10 * short < 9 * len(lengths):
        return []
    count = (
        f"{short} of {len(lengths)} segments have" if len(lengths) > 1 else "the only segment has"
    )
    return [
        f"{count} at most {_SHORT} frames: are these seconds? Name the columns start_s and end_s"
    ]


def frame_labels(segments: Iterable[Segment], n_frames: int) -> np.ndarray:
    """(n_frames,) the label of each frame, "" for none; where segments overlap, that of the later
    start.

    >>> frame_labels([Segment("wave", 1, 3)], 4).tolist()
    ['', 'wave', 'wave', '']
    """
    labels = np.full(n_frames, "", dtype=object)
    for s in sorted(segments, key=lambda s: (s.start, s.stop)):
        labels[s.start : s.stop] = s.label
    return labels


def segments_from_frames(labels: Sequence[Any]) -> tuple[Segment, ...]:
    """Runs of equal labels as segments; "" and None are no label.

    >>> segments_from_frames(["", "wave", "wave", "", "clap"])
    (Segment(label='wave', start=1, stop=3), Segment(label='clap', start=4, stop=5))
    """
    segments, start = [], 0
    for label, run in itertools.groupby(labels):
        stop = start + sum(1 for _ in run)
        if label not in ("", None):
            segments.append(Segment(str(label), start, stop))
        start = stop
    return tuple(segments)
