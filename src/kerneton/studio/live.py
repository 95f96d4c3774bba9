"""Labels while somebody moves.

The spotter of `kerneton.stream` finds segments and counts their repetitions, half a second after they end at the latest;
what it believes to go on is the label that is shown. Before it knows, the model itself says what the newest frames look
like: of windows of three lengths around that of a typical training recording, the one that is most like something seen in
training answers, and none of the actions is shown where its score of being unknown is above one half.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.prepare.poses import missing_joints
from kerneton.stream.frames import raw_joints
from kerneton.stream.repetitions import count_repetitions
from kerneton.studio.recognizing import adapt, answers, contributions

_MOST_JOINTS = 500
_LONGEST = 60.0  # seconds that a typical recording may have
_LEAST = 0.6  # share of a typical recording that must be there before the first answer
_DELAY = 0.5  # seconds from the end of an action until its segment is settled
_HELD = 0.8  # seconds for which the label of a settled segment stays
_WHY = 0.3  # seconds between two looks at what the joints add
LENGTHS = (0.7, 1.0, 1.4)  # of windows, in typical recordings
DOUBT = 0.5  # score of being unknown above which a window shows none of the actions


def typical_seconds(figures: dict[str, Any]) -> float:
    """Length of a typical training recording.

    >>> typical_seconds({"frames": 45, "fps": 30.0})
    1.5
    """
    return min(max(figures.get("frames", 30) / float(figures.get("fps") or 30.0), 0.4), _LONGEST)


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


class Watcher:
    """A model at work on the newest frames of one body: frames in, answers out."""

    def __init__(self, model: Any, spotter: Any, figures: dict[str, Any]) -> None:
        self.model, self.spotter = model, spotter
        self.fps = float(figures.get("fps") or 30.0)
        self.typical = typical_seconds(figures)
        self.window = Window(max(self.typical * max(LENGTHS), 2 * self.typical + _HELD))
        self.counts: Counter[str] = Counter()
        self._stream: Any = None
        self._going: Any = None  # what the spotter believes to go on
        self._ended: Any = None  # the last segment
        self._why: tuple[str, float, dict[str, float]] = ("", -np.inf, {})

    def answer(
        self, frames: list[tuple[float, np.ndarray]], layout: Layout | None, *, why: bool
    ) -> dict[str, Any]:
        """What goes on after these frames. With ``why``, what each joint adds, from -1 to 1."""
        if layout != self.window.layout or (self.window.frames and frames[0][0] < self.window.frames[-1][0]):
            self.window.frames.clear()
            self.window.layout, self._stream, self._going, self._ended = layout, None, None, None
        for time, joints in frames:
            self.window.push(time, joints)
        now = frames[-1][0]
        out: dict[str, Any] = {"t": now, "segments": self._spot(frames, layout)}
        if self._going is not None and now - self._going.time > self.typical + _DELAY:
            self._going = None
        if self.window.filled < _LEAST * self.typical:
            return {**out, "filling": self.window.filled / (_LEAST * self.typical)}
        found, seen = self._guess()
        known = self._going or (
            self._ended if self._ended is not None and now - self._ended.time < _HELD else None
        )
        out |= {**found, "sure": known is not None, "unknown": known is None and found["doubt"] > DOUBT}
        counts = Counter(self.counts)
        if known is not None:
            out |= {"label": known.label, "probability": known.probability}
        if self._going is not None:
            counts[self._going.label] += count_repetitions(
                self.window.recording(self.fps, now - self._going.start).joints, self.fps
            ).count
        out |= {"counts": dict(counts), "present": None if self._going is None else self._going.label}
        if self._going is not None:
            out["since"] = self._going.start
        if why and (self._why[0] != out["label"] or not 0 <= now - self._why[1] < _WHY):
            self._why = (out["label"], now, contributions(self.model, seen, out["label"]))
        return {**out, "joints": self._why[2]} if why else out

    def _spot(self, frames: list[tuple[float, np.ndarray]], layout: Layout | None) -> list[dict[str, Any]]:
        """Segments that are settled by now; what seems to go on is kept."""
        if self.spotter is None:
            return []
        if self._stream is None:
            self._stream = self.spotter.stream(delay=_DELAY, repetitions=True)
        stack = np.stack([joints for _, joints in frames])
        chunk = SkeletonSequence(stack[..., :3], confidence=stack[..., 3].clip(0, 1), layout=layout)
        out = []
        for (time, _), pose in zip(frames, raw_joints(adapt(self.model, [chunk])[0]), strict=True):
            for event in self._stream.push(pose, time, 0):
                if event.kind == "provisional":
                    self._going = event
                elif event.kind == "segment":
                    self._going, self._ended = None, event
                    n = max(1, event.repetitions.count) if event.repetitions else 1
                    self.counts[event.label] += n
                    names = ("label", "start", "stop", "probability")
                    out.append({**{name: getattr(event, name) for name in names}, "repetitions": n})
        return out

    def _guess(self) -> tuple[dict[str, Any], SkeletonSequence]:
        """The answer for the window that is most like something seen in training, and that window."""
        lengths = [share * self.typical for share in LENGTHS]
        recordings = [
            self.window.recording(self.fps, seconds)
            for seconds in lengths
            if seconds <= max(self.window.filled, lengths[0]) + 1e-6
        ]
        found = answers(self.model, recordings)
        best = min(range(len(found)), key=lambda i: found[i]["doubt"])
        return found[best], recordings[best]


def replayed(sequence: SkeletonSequence) -> tuple[list[tuple[float, np.ndarray]], Layout | None]:
    """A recording as frames that came live: (time, (J, 4) joints and confidence), and its layout.

    >>> from kerneton import make_actions
    >>> frames, layout = replayed(make_actions(["wave"], n_subjects=1, n_takes=1)[0])
    >>> frames[15][0], frames[15][1].shape, layout.name
    (0.5, (20, 4), 'kinect20')
    """
    seen = ~missing_joints(sequence)[..., None]
    rows = np.concatenate([np.nan_to_num(np.asarray(sequence.joints, float)), seen], axis=2)
    rate = sequence.fps or 30.0
    return [(i / rate, row) for i, row in enumerate(rows)], sequence.layout


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
            f"no layout {str(name)[:40]!r} with {len(joints)} joints; known layouts are {', '.join(LAYOUTS)}"
        )
    return time, joints, layout
