"""Live labels.

The spotter of `kerneton.stream` finds segments and counts their repetitions, at most half a second
after they end; its provisional segment is the label that is shown. Until it has one, the model
itself classifies the newest frames: it looks at windows of three lengths around that of a typical
training recording and takes the one that resembles the training recordings most. If the score of
being unknown of that window is above one half, none of the actions is shown.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.exceptions import DataError, ParameterError
from kerneton.stream.executions import repetitions, told
from kerneton.stream.frames import raw_joints
from kerneton.stream.spotter import adapted
from kerneton.studio.recognizing import answers, contributions

# time, (J, 4) joints and confidence, layout, and which of several bodies
Frame = tuple[float, np.ndarray, Layout | None, str]
MEDIAPIPE_AXES = (-1.0, -1.0, 1.0, 1.0)  # its x and y point in the opposite direction
_MOST_JOINTS = 500
_LONGEST = 60.0  # seconds of a typical recording at most
_LEAST = 0.6  # share of a typical recording that is needed for the first answer
_DELAY = 0.5  # seconds from the end of an action until its segment is final
_HELD = 0.8  # seconds for which the label of a final segment stays
_WHY = 0.3  # seconds between two computations of the joints' contributions
LENGTHS = (0.7, 1.0, 1.4)  # of windows, in lengths of a typical recording
# A segment that the spotter has found may be doubted more than a window, 0.8 instead of 0.5: of 0.5
# to 0.95 the best for training people of UTD-MHAD who were held out, with other actions than in the
# benchmark.
_SPOTTED = 0.32  # power of the limit
DOUBT = 0.5  # score of being unknown above which a window shows none of the actions


def typical_seconds(figures: dict[str, Any]) -> float:
    """Length of a typical training recording.

    >>> typical_seconds({"frames": 45, "fps": 30.0})
    1.5
    """
    return min(max(figures.get("frames", 30) / float(figures.get("fps") or 30.0), 0.4), _LONGEST)


@dataclass
class Window:
    """The newest frames of one body: (time, (J, 4) joints and confidence), in the convention of
    recordings.
    """

    seconds: float
    layout: Layout | None = None
    frames: deque[tuple[float, np.ndarray]] = field(default_factory=deque)

    def push(self, time: float, joints: np.ndarray) -> None:
        """Add a frame; a jump back in time, or a gap longer than the window, empties the window
        first.
        """
        if self.frames:
            last, pose = self.frames[-1]
            if not last < time <= last + self.seconds or joints.shape != pose.shape:
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
        >>> for i in range(30):
        ...     window.push(i / 25, np.ones((20, 4)))
        >>> window.recording(30.0, 0.5).n_frames
        16
        """
        times = np.array([time for time, _ in self.frames])
        stack = np.stack([joints for _, joints in self.frames])
        even = np.arange(times[-1], max(times[0], times[-1] - seconds) - 1e-9, -1 / fps)[::-1]
        return interpolated(times, stack, even).replace(layout=self.layout, fps=fps, name="live")


def interpolated(times: np.ndarray, frames: np.ndarray, at: np.ndarray) -> SkeletonSequence:
    """Frames (T, J, 4) of joints and confidence at rising times, interpolated linearly at other
    times.
    """
    after = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    share = ((at - times[after - 1]) / (times[after] - times[after - 1])).clip(0, 1)[:, None, None]
    mixed = (frames[after - 1] * (1 - share) + frames[after] * share).astype(np.float32)
    return SkeletonSequence(mixed[..., :3], confidence=np.nan_to_num(mixed[..., 3]).clip(0, 1))


class Watcher:
    """Runs a model on the newest frames of one body; segments need one with a spotter."""

    def __init__(self, model: Any, figures: dict[str, Any]) -> None:
        self.model = model
        self.fps = float(figures.get("fps") or 30.0)
        self.typical = typical_seconds(figures)
        self.window = Window(max(self.typical * max(LENGTHS), 2 * self.typical + _HELD))
        self.counts: Counter[str] = Counter()
        self._stream: Any = None
        self._going: Any = None  # the spotter's provisional segment
        self._ended: Any = None  # the last final segment
        self._why: tuple[str, float, dict[str, float]] = ("", -np.inf, {})

    def answer(
        self,
        frames: list[tuple[float, np.ndarray]],
        layout: Layout | None,
        *,
        why: bool,
        doubt: float = DOUBT,
    ) -> dict[str, Any]:
        """What is going on after these frames: one label, from which all else follows.

        Parameters
        ----------
        frames, layout
            The newest frames, (time, (J, 4) joints and confidence).
        why : bool
            Also each joint's contribution, from -1 to 1.
        doubt : float
            Score of being unknown above which a window, or a segment, shows none of the actions.
        """
        if layout != self.window.layout or (
            self.window.frames and frames[0][0] < self.window.frames[-1][0]
        ):
            self.window.frames.clear()
            self.window.layout, self._stream, self._going, self._ended = layout, None, None, None
        for time, joints in frames:
            self.window.push(time, joints)
        now = frames[-1][0]
        out: dict[str, Any] = {"t": now, "segments": self._spot(frames, layout, doubt)}
        if self._going is not None and now - self._going.time > self.typical + _DELAY:
            self._going = None
        if self.window.filled < _LEAST * self.typical:
            return {**out, "filling": self.window.filled / (_LEAST * self.typical)}
        known = self._known(now)
        try:
            found, seen = self._judged(known.start, now) if known else self._guess()
            if known is not None and found["doubt"] > doubt**_SPOTTED and known is self._going:
                # the spotter takes it for one of its actions
                known, (found, seen) = None, self._guess()
        except DataError as error:  # a joint is hidden in all frames so far
            return {**out, "filling": 1.0, "hidden": str(error).removeprefix("recording #0 ")}
        out |= {
            **found,
            "sure": known is not None,
            "unknown": known is None and found["doubt"] > doubt,
        }
        if known is not None:
            out |= {
                "label": known.label,
                "probability": known.probability,
                "ranked": _led_by(known.label, known.probability, found["ranked"]),
            }
        out |= {"counts": dict(self.counts), "present": None}
        if known is not None and known is self._going:
            going = self.window.recording(self.fps, now - known.start)
            swings = repetitions(going)
            out |= {"present": known.label, "since": known.start}
            out |= {"repetitions": told(swings, going, None)}
            out["counts"][known.label] = self.counts[known.label] + len(swings)
        if why and (self._why[0] != out["label"] or not 0 <= now - self._why[1] < _WHY):
            self._why = (out["label"], now, contributions(self.model, seen, out["label"]))
        return {**out, "joints": self._why[2]} if why else out

    def _known(self, now: float) -> Any:
        """The spotter's segment that goes on, or has just become final."""
        recent = self._ended is not None and now - self._ended.time < _HELD
        return self._going or (self._ended if recent else None)

    def _judged(self, start: float, now: float) -> tuple[dict[str, Any], SkeletonSequence]:
        """The model's answer for the frames since a time, and these frames."""
        seen = self.window.recording(self.fps, max(now - start, LENGTHS[0] * self.typical))
        return answers(self.model, [seen])[0], seen

    def _spot(
        self, frames: list[tuple[float, np.ndarray]], layout: Layout | None, doubt: float
    ) -> list[dict[str, Any]]:
        """Segments that have become final, and that the model does not take for something else; the
        provisional one is kept.
        """
        if self.model.spotter_ is None:
            return []
        if self._stream is None:
            self._stream = self.model.stream(delay_s=_DELAY, repetitions=True)
        stack = np.stack([joints for _, joints in frames])
        chunk = SkeletonSequence(stack[..., :3], confidence=stack[..., 3].clip(0, 1), layout=layout)
        out = []
        for (time, _), pose in zip(frames, raw_joints(adapted(self.model, chunk)), strict=True):
            for event in self._stream.push(pose, time, 0):
                if event.kind == "provisional":
                    self._going = event
                elif event.kind == "segment":
                    self._going = None
                    if self._is_other(event, doubt):
                        continue
                    self._ended = event
                    n = max(1, event.repetitions.count) if event.repetitions else 1
                    self.counts[event.label] += n
                    names = ("label", "start", "stop", "probability")
                    out.append({**{name: getattr(event, name) for name in names}, "repetitions": n})
        return out

    def _is_other(self, event: Any, doubt: float) -> bool:
        """Whether the model does not know what happens in a segment."""
        late = self.window.frames[-1][0] - event.stop if self.window.frames else 0.0
        seen = self.window.recording(self.fps, event.stop - event.start + max(late, 0.0))
        kept = seen.n_frames - round(max(late, 0.0) * self.fps)
        if kept < 2:
            return False
        try:
            return bool(answers(self.model, [seen.cut(0, kept)])[0]["doubt"] > doubt**_SPOTTED)
        except DataError:  # a joint is hidden in all its frames
            return False

    def _guess(self) -> tuple[dict[str, Any], SkeletonSequence]:
        """The answer for the window that resembles the training recordings most, and that
        window.
        """
        lengths = [share * self.typical for share in LENGTHS]
        longest = max(self.window.filled, lengths[0]) + 1e-6
        recordings = [self.window.recording(self.fps, s) for s in lengths if s <= longest]
        found = answers(self.model, recordings)
        best = min(range(len(found)), key=lambda i: found[i]["doubt"])
        return found[best], recordings[best]


def _led_by(
    label: str, probability: float | None, ranked: list[tuple[str, float]]
) -> list[tuple[str, float]]:
    """Likeliest labels that begin with this one; the others share what is left as they did before.

    >>> _led_by("wave", 0.6, [("clap", 0.9), ("wave", 0.08), ("kick", 0.02)])
    [('wave', 0.6), ('clap', 0.391...), ('kick', 0.008...)]
    """
    if probability is None:
        return []
    others = [(name, share) for name, share in ranked if name != label]
    total = sum(share for _, share in others) or 1.0
    rest = min(1.0 - probability, probability)  # none of them stands above the label
    return [(label, probability), *((name, rest * share / total) for name, share in others)]


def replayed(sequence: SkeletonSequence) -> tuple[list[tuple[float, np.ndarray]], Layout | None]:
    """A recording as live frames: (time, (J, 4) joints and confidence), and its layout.

    >>> from kerneton import make_actions
    >>> frames, layout = replayed(make_actions(["wave"], n_subjects=1, n_takes=1)[0])
    >>> frames[15][0], frames[15][1].shape, layout.name
    (0.5, (20, 4), 'kinect20')
    """
    seen = ~missing_joints(sequence)[..., None]
    rows = np.concatenate([np.nan_to_num(np.asarray(sequence.joints, float)), seen], axis=2)
    rate = sequence.fps or 30.0
    return [(i / rate, row) for i, row in enumerate(rows)], sequence.layout


def frame_of(message: dict[str, Any]) -> Frame:
    """A frame from the page or another program: time, joints and confidence (J, 4) in the axes of
    recordings, layout, and ``body``, which of several.

    ``joints`` are [x, y, z] or [x, y, z, confidence]; ``axes`` is "mediapipe" where y points down
    and x to the picture's right, otherwise they are as in recordings.

    >>> time, joints, layout, body = frame_of(
    ...     {"time": 1, "joints": [[0, 1, 2]] * 20, "layout": "kinect20", "body": 2}
    ... )
    >>> time, joints.shape, layout.name, body
    (1.0, (20, 4), 'kinect20', '2')
    """
    try:
        time, joints = float(message["time"]), np.asarray(message["joints"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(
            "a frame needs time, a number, and joints, rows of [x, y, z]"
        ) from error
    if joints.ndim != 2 or joints.shape[1] not in (3, 4) or not 1 <= len(joints) <= _MOST_JOINTS:
        raise ParameterError(
            f"expected joints as rows of [x, y, z] or [x, y, z, confidence], got {joints.shape}"
        )
    if not np.isfinite(time):
        raise ParameterError("time must be a number")
    if joints.shape[1] == 3:
        joints = np.concatenate([joints, np.isfinite(joints).all(axis=1, keepdims=True)], axis=1)
    if message.get("axes") == "mediapipe":
        joints = joints * MEDIAPIPE_AXES
    name, body = message.get("layout"), message.get("body", "")
    if type(body) not in (int, str) or len(str(body)) > 40:
        raise ParameterError("body: expected a number, or text of at most 40 characters")
    return time, joints, None if name is None else layout_of(name, len(joints)), str(body)


def layout_of(name: Any, n_joints: int) -> Layout:
    """A layout by its name; an error if there is none with this number of joints."""
    layout = LAYOUTS.get(str(name))
    if layout is None or len(layout.joints) != n_joints:
        known = ", ".join(LAYOUTS)
        raise ParameterError(
            f"no layout {str(name)[:40]!r} with {n_joints} joints; known layouts are {known}"
        )
    return layout
