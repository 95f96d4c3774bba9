"""Labels while somebody moves: a window that slides over the newest frames, and what was recognised in it.

Windows of three lengths around that of a typical training recording end at the newest frame; the one that is most like
something seen in training answers. A recording of one action is refused as "none of these" above the model's threshold;
a window, which seldom begins and ends with the action, only where the score of being unknown is above one half. A label begins a segment when it is said three times in a row,
and the segment ends when another label, or none of them, is said three times in a row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError

Say = Callable[[list[SkeletonSequence]], list[dict[str, Any]]]
Why = Callable[[SkeletonSequence, str], dict[str, float]]

_CONFIRM = 3  # equal answers in a row that begin or end a segment
_MOST_JOINTS = 500
_LONGEST = 60.0  # seconds that a window may hold
_LEAST = 0.6  # share of a typical recording that must be there before the first answer
LENGTHS = (0.7, 1.0, 1.4)  # of windows, in typical recordings
DOUBT = 0.5  # score of being unknown above which a window shows none of the actions


@dataclass
class Window:
    """The newest frames of one body: (time, (J, 4) joints and confidence), in the convention of recordings."""

    seconds: float
    layout: Layout | None = None
    frames: deque[tuple[float, np.ndarray]] = field(default_factory=deque)

    def push(self, time: float, joints: np.ndarray) -> None:
        """Add a frame; time must rise, and a jump back or a gap longer than the window begins anew."""
        if self.frames and (
            time <= self.frames[-1][0]
            or time - self.frames[-1][0] > self.seconds
            or joints.shape != self.frames[-1][1].shape
        ):
            self.frames.clear()
        self.frames.append((time, joints))
        while self.frames and time - self.frames[0][0] > self.seconds:
            self.frames.popleft()

    @property
    def filled(self) -> float:
        """Seconds between the first and the last frame."""
        return self.frames[-1][0] - self.frames[0][0] if len(self.frames) > 3 else 0.0

    def recording(self, fps: float, seconds: float) -> SkeletonSequence:
        """The last seconds as a recording at an even rate.

        >>> window = Window(seconds=1.0)
        >>> for i in range(30): window.push(i / 25, np.ones((20, 4)))
        >>> window.recording(30.0, 0.5).n_frames
        16
        """
        times = np.array([time for time, _ in self.frames])
        stack = np.stack([joints for _, joints in self.frames])
        even = np.arange(times[-1], max(times[0], times[-1] - seconds) - 1e-9, -1 / fps)[::-1]
        after = np.clip(np.searchsorted(times, even), 1, len(times) - 1)
        share = ((even - times[after - 1]) / (times[after] - times[after - 1])).clip(0, 1)[:, None, None]
        mixed = stack[after - 1] * (1 - share) + stack[after] * share
        return SkeletonSequence(
            mixed[..., :3].astype(np.float32),
            confidence=np.nan_to_num(mixed[..., 3]).clip(0, 1).astype(np.float32),
            layout=self.layout,
            fps=fps,
            name="live",
        )


@dataclass
class Segments:
    """Which labels were confirmed when, and how often."""

    counts: dict[str, int] = field(default_factory=dict)
    present: tuple[str, float] | None = None  # label and beginning
    _said: deque[str | None] = field(default_factory=lambda: deque(maxlen=_CONFIRM))
    _times: deque[float] = field(default_factory=lambda: deque(maxlen=_CONFIRM))

    def say(self, label: str | None, time: float) -> list[dict[str, Any]]:
        """Take in an answer, None for "none of these"; what it begins or ends.

        >>> segments = Segments()
        >>> [segments.say("bow", t) for t in (0.0, 0.1, 0.2)][-1]
        [{'begins': 'bow', 'time': 0.0}]
        >>> [segments.say(None, t) for t in (0.3, 0.4, 0.5)][-1], segments.counts
        ([{'ends': 'bow', 'time': 0.3}], {'bow': 1})
        """
        self._said.append(label)
        self._times.append(time)
        if len(self._said) < _CONFIRM or len(set(self._said)) > 1:
            return []
        before = None if self.present is None else self.present[0]
        if label == before:
            return []
        out: list[dict[str, Any]] = []
        if self.present is not None:
            out.append({"ends": self.present[0], "time": self._times[0]})
            self.present = None
        if label is not None:
            self.present = (label, self._times[0])
            self.counts[label] = self.counts.get(label, 0) + 1
            out.append({"begins": label, "time": self._times[0]})
        return out


class Watcher:
    """A model at work on a window: frames in, answers out."""

    def __init__(self, say: Say, why: Why, figures: dict[str, Any]) -> None:
        self._say, self._why = say, why
        self.fps = float(figures.get("fps") or 30.0)
        self.typical = min(max(figures.get("frames", 30) / self.fps, 0.4), _LONGEST)
        self.window = Window(self.typical * max(LENGTHS))
        self.segments = Segments()

    def push(self, time: float, joints: np.ndarray, layout: Layout | None) -> None:
        """Add a frame in the convention of recordings."""
        if layout is not self.window.layout:
            self.window.frames.clear()
            self.window.layout = layout
        self.window.push(time, joints)

    def answer(self, *, why: bool = False) -> dict[str, Any] | None:
        """What the window shows now; None while it is not filled. With ``why``, what each joint adds, from -1 to 1."""
        frames = list(self.window.frames)
        if not frames:
            return None
        time = frames[-1][0]
        if self.window.filled < _LEAST * self.typical:
            return {"t": time, "filling": self.window.filled / (_LEAST * self.typical)}
        lengths = [share * self.typical for share in LENGTHS]
        recordings = [
            self.window.recording(self.fps, seconds)
            for seconds in lengths
            if seconds <= max(self.window.filled, lengths[0]) + 1e-6
        ]
        found = self._say(recordings)
        best = min(range(len(found)), key=lambda i: found[i]["doubt"])
        out: dict[str, Any] = {**found[best], "t": time, "unknown": found[best]["doubt"] > DOUBT}
        out["changes"] = self.segments.say(None if out["unknown"] else out["label"], time)
        out["counts"] = self.segments.counts
        out["present"] = None if self.segments.present is None else self.segments.present[0]
        if why:
            out["joints"] = self._why(recordings[best], out["label"])
        return out


def frame_of(told: dict[str, Any]) -> tuple[float, np.ndarray, Layout | None]:
    """A frame that a page or a program sent, in the convention of recordings.

    ``joints`` are [x, y, z] or [x, y, z, confidence]; ``axes`` is "mediapipe" where y points down and x to the picture's
    right, else they are as in recordings.

    >>> time, joints, layout = frame_of({"time": 1, "joints": [[0, 1, 2]] * 20, "layout": "kinect20"})
    >>> time, joints.shape, layout.name
    (1.0, (20, 4), 'kinect20')
    """
    try:
        time, joints = float(told["time"]), np.asarray(told["joints"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError("a frame needs time, a number, and joints, rows of [x, y, z]") from error
    if joints.ndim != 2 or joints.shape[1] not in (3, 4) or not 1 <= len(joints) <= _MOST_JOINTS:
        raise ParameterError(
            f"expected joints as rows of [x, y, z] or [x, y, z, confidence], got {joints.shape}"
        )
    if not np.isfinite(time):
        raise ParameterError("time must be a number")
    if joints.shape[1] == 3:
        joints = np.concatenate([joints, np.isfinite(joints).all(axis=1, keepdims=True)], axis=1)
    if told.get("axes") == "mediapipe":
        joints = joints * [-1.0, -1.0, 1.0, 1.0]
    name = told.get("layout")
    layout = None if name is None else LAYOUTS.get(str(name))
    if name is not None and (layout is None or len(layout.joints) != len(joints)):
        raise ParameterError(
            f"no layout {str(name)[:40]!r} with {len(joints)} joints; there are {', '.join(LAYOUTS)}"
        )
    return time, joints, layout
