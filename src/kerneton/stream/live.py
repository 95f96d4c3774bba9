"""Live streams: from frames to events; unusable frames are counted and reported, and the stream
continues.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneton.data.checks import LARGEST_COORDINATE
from kerneton.data.parameters import check_positive, renamed
from kerneton.stream.detection import Detection
from kerneton.stream.engine import Engine, frames_of_delay
from kerneton.stream.repetitions import Repetitions, count_repetitions
from kerneton.stream.spotter import order_of, spotter_of

if TYPE_CHECKING:
    from kerneton.recognize.recognizer import Recognizer

_GAP = 1.0  # seconds without frames after which a body counts as gone
_NEAR = 0.8  # metres that the root of a body without id may move between frames
_MAX_BODIES = 64
_ANEW = 0.25  # seconds of frames behind the clock after which it is believed to have been set back
_FILL = 0.5  # seconds of missing frames that are bridged by interpolation


@dataclass(frozen=True)
class Event:
    """An event of a stream.

    ``kind`` is "segment" (final), "provisional" (what seems to go on), "body" (one appears or
    leaves) or "dropped" (unusable input, with the reason; reported once per reason until other
    input arrives).

    >>> Event("segment", "1", 2.0, "wave", start=0.5, stop=1.5).to_dict()["label"]
    'wave'
    """

    kind: str
    body: str
    time: float  # seconds, of the stream's own clock
    label: str | None = None
    start: float | None = None  # seconds
    stop: float | None = None
    probability: float | None = None
    reason: str | None = None
    detection: Detection | None = None
    repetitions: Repetitions | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without those that are None.

        >>> Event("dropped", "0", 1.5, reason="time runs backwards").to_dict()
        {'event': 'dropped', 'body': '0', 'time': 1.5, 'reason': 'time runs backwards'}
        """
        out: dict[str, Any] = {"event": self.kind, "body": self.body, "time": round(self.time, 4)}
        for name in ("label", "start", "stop", "probability", "reason"):
            if (value := getattr(self, name)) is not None:
                out[name] = round(value, 4) if isinstance(value, float) else value
        if self.repetitions is not None:
            out["repetitions"] = self.repetitions.to_dict()
        return out


class LiveStream:
    """Turns frames of one or several bodies into events.

    Parameters
    ----------
    recognizer : Recognizer
        Trained by `Recognizer.fit_spotting`.
    fps : float, optional
        Frames per second of the source, for frames without times. Frames are resampled to the rate
        of training.
    delay_s : float, optional
        Seconds from the end of an action to its final event, at most; None waits until nothing can
        change any more, as `Recognizer.spot` does.
    repetitions : bool
        Count the repetitions inside each final segment.
    in_order : bool
        Expect the actions in the order of the training recordings.

    Examples
    --------
    >>> from kerneton import make_actions, make_recognizer
    >>> takes = make_actions(["wave", "kick"], n_subjects=3, n_takes=1, uncut=True)
    >>> stream = make_recognizer().fit_spotting(takes[:2]).stream(delay_s=0.5)  # doctest: +SKIP
    >>> events = [e for joints in takes[2].joints for e in stream.push(joints)]  # doctest: +SKIP
    """

    @renamed(delay="delay_s")
    def __init__(
        self,
        recognizer: Recognizer,
        *,
        fps: float | None = None,
        delay_s: float | None = None,
        repetitions: bool = False,
        in_order: bool = False,
    ) -> None:
        spotter = spotter_of(recognizer)
        if fps is not None:
            check_positive("fps", fps)
        # the rate of training, at which everything is computed
        self._own = spotter.fps_ or fps or 30.0
        self._fps = fps or self._own
        self._recognizer, self._repetitions = recognizer, repetitions
        self._delay_frames = frames_of_delay(delay_s, self._own)
        self._order = order_of(recognizer, in_order)
        self._n_joints = spotter.features_.n_joints
        self._bodies: dict[str, _Body] = {}
        self._time = -1 / self._fps
        self._behind: tuple[float, float] | None = (
            None  # the first and the last of rising times behind the clock
        )
        self._n_named = 0
        self._told: dict[str, str] = {}
        self.counters: Counter[str] = Counter()

    def push(
        self, frame: Any, time: float | None = None, body: str | int | None = None
    ) -> list[Event]:
        """Add a frame (J, 3), or one of several bodies (N, J, 3), which are tracked by distance;
        its time in seconds; a body's id.
        """
        if time is not None and not _is_number(time):
            return self._drop("", "the time is not a number")
        now = self._time + 1 / self._fps if time is None else float(time)
        joints = _as_frame(frame, self._n_joints)
        if isinstance(joints, str):
            return self._drop("" if body is None else str(body), joints)
        events = []
        if now < self._time - 1e-9:
            if not self._starts_anew(now):
                return self._drop("" if body is None else str(body), "time runs backwards")
            events += [*self.close(), *self._drop("", "the clock was set back: time starts anew")]
            self._time = now
        self._behind = None
        events += self._leave(now)
        self._time = max(self._time, now)
        self.counters["frames"] += len(joints)
        names = [str(body)] if body is not None and len(joints) == 1 else self._track(joints, now)
        for name, pose in zip(names, joints, strict=True):
            if name not in self._bodies:
                if len(self._bodies) >= _MAX_BODIES:
                    events += self._drop(name, f"more than {_MAX_BODIES} bodies at a time")
                    continue
                engine = Engine(self._recognizer, self._delay_frames, self._order)
                self._bodies[name] = _Body(name, engine, self._own, self._repetitions, now)
                events.append(Event("body", name, now, reason="appears"))
            events += self._say(self._bodies[name].push(pose, now))
        return events

    def drop(self, reason: str, count: int = 1) -> list[Event]:
        """Count input that is not a frame: a line that is not JSON, a packet that is too large."""
        return self._drop("", reason, count)

    def close(self) -> list[Event]:
        """End the streams of all bodies; open segments become final."""
        events = []
        for name in list(self._bodies):
            events += self._say(self._bodies.pop(name).close())
        return events

    def summary(self) -> dict[str, int]:
        """Counters: frames, segments, and dropped input by reason."""
        return dict(sorted(self.counters.items()))

    def _say(self, events: list[Event]) -> list[Event]:
        for event in events:
            if event.kind == "segment":
                self.counters["segments"] += 1
            self._told.pop(event.body, None)
        return events

    def _drop(self, body: str, reason: str, count: int = 1) -> list[Event]:
        self.counters[f"dropped: {reason}"] += count
        # ten thousand broken frames are one event, and a counter
        if self._told.get(body) == reason:
            return []
        if len(self._told) > 4 * _MAX_BODIES:
            self._told.clear()
        self._told[body] = reason
        return [Event("dropped", body, max(self._time, 0.0), reason=reason)]

    def _starts_anew(self, now: float) -> bool:
        """Whether times have been behind the clock for so long, in their order, that the clock is
        wrong and not they.
        """
        first, last = self._behind or (now, now)
        self._behind = (first, now) if last <= now <= last + _GAP else (now, now)
        return now - self._behind[0] >= _ANEW

    def _leave(self, now: float) -> list[Event]:
        events = []
        for name in [n for n, b in self._bodies.items() if now - b.last > _GAP]:
            events += [
                *self._say(self._bodies.pop(name).close()),
                Event("body", name, now, reason="leaves"),
            ]
        return events

    def _track(self, joints: np.ndarray, now: float) -> list[str]:
        """The nearest known body for each skeleton, each used once; new names for skeletons that
        are near none.
        """
        free = {name: b.place for name, b in self._bodies.items() if b.last < now}
        names = []
        for pose in joints:
            seen = pose[np.isfinite(pose).all(axis=1)]
            place = seen.mean(axis=0) if len(seen) else None
            if place is None and len(joints) == 1 and len(free) == 1:
                near = next(iter(free))
            elif place is None:
                near = None
            else:
                near = min(free, key=lambda n: np.linalg.norm(free[n] - place), default=None)
                if near is not None and len(joints) + len(self._bodies) > 2:
                    near = near if np.linalg.norm(free[near] - place) <= _NEAR else None
            if near is None:
                near, self._n_named = str(self._n_named), self._n_named + 1
            free.pop(near, None)
            names.append(near)
        return names


class _Body:
    """The frames of one body, resampled to the rate of training, and its engine."""

    def __init__(
        self, name: str, engine: Engine, rate: float, repetitions: bool, now: float
    ) -> None:
        self.name, self.last, self.place = name, now, np.zeros(3)
        self._engine = engine
        self._rate, self._begin, self._n = rate, now, 0
        self._previous: tuple[float, np.ndarray] | None = None
        self._shown: str | None = None
        self._history: list[np.ndarray] | None = [] if repetitions else None
        self._dropped = 0  # frames of history that were removed

    def push(self, pose: np.ndarray, now: float) -> list[Event]:
        seen = np.isfinite(pose).all(axis=1)
        if seen.any():
            self.place = pose[seen].mean(axis=0)
        frames = self._on_grid(pose, now)
        self.last = now
        if not frames:
            return []
        if self._history is not None:
            self._history += frames
            longest = 4096
            if len(self._history) > 2 * longest:
                self._dropped += len(self._history) - longest
                self._history = self._history[-longest:]
        events = [self._final(d) for d in self._engine.push(np.stack(frames))]
        going = self._engine.provisional()
        label = None if going is None else going.label
        if going is not None and label != self._shown:
            events.append(
                Event(
                    "provisional",
                    self.name,
                    now,
                    label=label,
                    start=self._seconds(going.start),
                    probability=going.probability,
                    detection=going,
                )
            )
        self._shown = label
        return events

    def close(self) -> list[Event]:
        return [self._final(d) for d in self._engine.close()]

    def _on_grid(self, pose: np.ndarray, now: float) -> list[np.ndarray]:
        """Poses at the times of training frames up to now, by interpolation; a longer gap is left
        missing.
        """
        frames: list[np.ndarray] = []
        previous, self._previous = self._previous, (now, pose)
        while (at := self._begin + self._n / self._rate) <= now + 1e-6:
            self._n += 1
            if previous is None or now - previous[0] <= 0 or now - at < 1e-6:
                frames.append(pose)
                continue
            if now - previous[0] > _FILL:
                frames.append(np.full_like(pose, np.nan))
                continue
            s = (at - previous[0]) / (now - previous[0])
            frames.append(previous[1] * (1 - s) + pose * s)
        return frames

    def _final(self, d: Detection) -> Event:
        counted = None
        if self._history is not None:
            start = max(0, d.start - self._dropped)
            part = self._history[start : d.stop - self._dropped]
            counted = count_repetitions(np.stack(part), self._rate) if len(part) else None
        return Event(
            "segment",
            self.name,
            self.last,
            label=d.label,
            start=self._seconds(d.start),
            stop=self._seconds(d.stop),
            probability=d.probability,
            detection=d,
            repetitions=counted,
        )

    def _seconds(self, frame: int) -> float:
        return self._begin + frame / self._rate


def _as_frame(frame: Any, n_joints: int) -> np.ndarray | str:
    """(N, J, 3) float64 with NaN for missing joints, or the reason why it is not a frame."""
    try:
        joints = np.asarray(frame, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return "the frame is not an array of numbers"
    if joints.ndim == 2:
        joints = joints[None]
    if joints.ndim != 3 or joints.shape[2] not in (2, 3) or not len(joints):
        return "the frame is not (joints, 3)"
    if joints.shape[1] != n_joints:
        return f"a skeleton of {joints.shape[1]} joints, expected {n_joints}"
    if joints.shape[2] == 2:
        joints = np.concatenate([joints, np.zeros((*joints.shape[:2], 1))], axis=2)
    joints = np.where(np.abs(joints) <= LARGEST_COORDINATE, joints, np.nan)
    joints[~np.isfinite(joints).all(axis=2)] = np.nan
    joints[~joints.any(axis=(1, 2))] = np.nan  # a sensor that sees nobody sends zeros
    return joints


def _is_number(value: Any) -> bool:
    number = float(value) if isinstance(value, (int, float, np.integer, np.floating)) else math.nan
    return math.isfinite(number) and abs(number) < 1e12
