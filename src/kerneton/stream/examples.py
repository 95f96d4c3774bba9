"""Training recordings of a spotter, and the examples that are cut from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.proposals import overlaps
from kerneton.stream.spotter import BACKGROUND
from kerneton.stream.verify import Candidates

_NEAR, _FAR = 0.7, 0.3  # overlap of examples of an action (at least) and of background (at most)
_MOST_NEAR = 3  # candidates that are examples of one action, in addition to its true frames
_BACKGROUND_SHARE = 4.0  # examples of background per example of an action, at most


@dataclass
class Take:
    """A training recording with data derived from it."""

    joints: np.ndarray  # (T, J, 3) cleaned
    features: np.ndarray  # (T, D)
    windows: np.ndarray  # (n, 2) true segments
    codes: np.ndarray  # (n,) their classes
    person: str
    recording: SkeletonSequence

    def cut(self, windows: np.ndarray) -> list[SkeletonSequence]:
        """Recordings of these frames, cut as in the engine."""
        subject, layout = self.person, self.recording.layout
        return [
            SkeletonSequence(self.joints[a:b], layout=layout, subject=subject) for a, b in windows
        ]


def make_take(
    recording: SkeletonSequence, features: FrameFeatures, classes: tuple[str, ...], number: int
) -> Take:
    """A recording prepared for training; without a subject it counts as a separate person."""
    joints, sizes = features.cleaner().clean(raw_joints(recording))
    inside = [s for s in recording.segments if s.start < recording.n_frames]
    return Take(
        joints,
        features.encode(joints, sizes, 0, len(joints)),
        np.array([(s.start, min(s.stop, len(joints))) for s in inside], dtype=int).reshape(-1, 2),
        np.array([classes.index(s.label) for s in inside], dtype=int),
        recording.subject if recording.subject is not None else f"recording {number}",
        recording,
    )


def cut_examples(
    takes: Sequence[Take], candidates: Sequence[Candidates], classes: tuple[str, ...]
) -> tuple[list[SkeletonSequence], list[str], list[int]]:
    """True segments, good candidates of each, and background candidates, those most like an action
    first.
    """
    recordings: list[SkeletonSequence] = []
    labels: list[str] = []
    of_take: list[int] = []

    def add(i: int, windows: np.ndarray, names: Sequence[str]) -> None:
        recordings.extend(takes[i].cut(windows))
        labels.extend(names)
        of_take.extend([i] * len(windows))

    background: list[tuple[float, int, np.ndarray]] = []
    for i, (take, c) in enumerate(zip(takes, candidates, strict=True)):
        add(i, take.windows, [classes[k] for k in take.codes])
        near = (
            overlaps(c.windows, take.windows)
            if len(take.windows)
            else np.zeros((len(c.windows), 1))
        )
        if len(take.windows) and len(c.windows):
            # of each true segment
            for best in np.argsort(-near, axis=0, kind="stable")[:_MOST_NEAR]:
                good = [k for k in range(len(best)) if near[best[k], k] >= _NEAR]
                add(i, c.windows[best[good]], [classes[take.codes[k]] for k in good])
        margin = c.light[:, :-1].max(axis=1) - c.light[:, -1]
        background += [
            (-margin[j], i, c.windows[j]) for j in np.flatnonzero(near.max(axis=1) < _FAR)
        ]
    background.sort(key=lambda item: item[:2])
    for _, i, window in background[: int(_BACKGROUND_SHARE * len(labels)) or 1]:
        add(i, window[None], [BACKGROUND])
    if BACKGROUND not in labels:
        raise DataError("the recordings contain no background: every frame belongs to an action")
    return recordings, labels, of_take
