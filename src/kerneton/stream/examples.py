"""Training recordings of a spotter, and the examples that are cut from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.machine.sampling import sample_rows
from kerneton.stream.frames import FrameFeatures, raw_joints
from kerneton.stream.proposals import overlaps
from kerneton.stream.spotter import BACKGROUND
from kerneton.stream.verify import Candidates

RIGHT = 0.5  # overlap at which a detection counts as right
_NEAR, _FAR = 0.7, 0.3  # overlap of examples of an action (at least) and of background (at most)
_MOST_NEAR = 3  # candidates that are examples of one action, in addition to its true frames
_BACKGROUND_SHARE = 4.0  # examples of background per example of an action, at most
_UNKNOWN = 0.25  # share of unknown frames up to which a window may be background


@dataclass(frozen=True)
class Certainty:
    """What the segments of training recordings leave open: ``partial`` if frames without a segment
    are unknown, by how many frames bounds may be wrong, and how far from a point is near.
    """

    partial: bool = False
    edge: float = 0.0
    tolerance: float = 10.0


@dataclass
class Take:
    """A training recording with data derived from it.

    Unknown frames are those of which nobody said whether they belong to an action.
    """

    joints: np.ndarray  # (T, J, 3) cleaned, in single precision
    sizes: np.ndarray  # (T,)
    windows: np.ndarray  # (n, 2) true segments; of points, windows that end there
    codes: np.ndarray  # (n,) their classes
    points: np.ndarray  # (n,) whether only the end is known
    person: str
    recording: SkeletonSequence
    unknown: np.ndarray  # (T + 1,) running sum of unknown frames
    certainty: Certainty
    # (T, d) reduced, in single precision
    features: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @property
    def overlapping(self) -> bool:
        """Whether some true segments overlap."""
        order = np.argsort(self.windows[:, 0], kind="stable")
        ends = np.maximum.accumulate(self.windows[order, 1])
        return bool((self.windows[order[1:], 0] < ends[:-1]).any())

    @property
    def known_frames(self) -> int:
        return len(self.joints) - int(self.unknown[-1])

    def cut(self, windows: np.ndarray) -> list[SkeletonSequence]:
        """Recordings of these frames, cut as in the engine."""
        subject, layout = self.person, self.recording.layout
        return [
            SkeletonSequence(self.joints[a:b], layout=layout, subject=subject) for a, b in windows
        ]

    def nearness(self, windows: np.ndarray) -> np.ndarray:
        """(n, m) agreement of windows with the true segments, at least `RIGHT` where a detection
        counts as right: the overlap, and for points one half and more within the tolerance.
        """
        if not len(self.windows):
            return np.zeros((len(windows), 0))
        near = overlaps(windows, self.windows, self.certainty.edge)
        if self.points.any():
            late = np.abs(windows[:, 1:] - self.windows[None, self.points, 1])
            near[:, self.points] = 1 - late / (2 * self.certainty.tolerance)
        return np.maximum(near, 0.0)

    def is_known(self, windows: np.ndarray) -> np.ndarray:
        """(n,) whether it is known that a window is an action or not."""
        unknown = self.unknown[windows[:, 1]] - self.unknown[windows[:, 0]]
        return unknown <= _UNKNOWN * (windows[:, 1] - windows[:, 0])

    def is_background(self, windows: np.ndarray, far: float, perhaps: bool = False) -> np.ndarray:
        """(n,) whether windows overlap every action by less than ``far``; ``perhaps`` also in
        frames that are unknown.
        """
        if not len(windows):
            return np.zeros(0, dtype=bool)
        found = self.is_known(windows) | perhaps
        if len(self.windows):
            found &= overlaps(windows, self.windows, self.certainty.edge).max(axis=1) < far
            found &= ~(self.nearness(windows)[:, self.points] >= RIGHT).any(axis=1)
        return found

    def background_grid(self, first: int, last: int, lengths: np.ndarray, far: float) -> np.ndarray:
        """(last - first, n_lengths) `is_background` of the windows that start in [first, last)."""
        starts = np.arange(first, last)
        stops = np.minimum(starts[:, None] + lengths, len(self.joints))
        out = self.unknown[stops] - self.unknown[starts][:, None] <= _UNKNOWN * lengths
        longest, reach = (
            int(lengths[-1]),
            int(np.ceil(self.certainty.edge + self.certainty.tolerance)),
        )
        for (a, b), point in zip(self.windows, self.points, strict=True):
            low, high = max(first, a - longest - reach), min(last, b + reach)
            if low >= high:
                continue
            at = np.arange(low, high)[:, None]
            grid = np.stack(np.broadcast_arrays(at, at + lengths), axis=-1).reshape(-1, 2)
            near = overlaps(grid, np.array([[a, b]]), self.certainty.edge)[:, 0] >= far
            if point:
                near |= np.abs(grid[:, 1] - b) <= self.certainty.tolerance
            out[low - first : high - first] &= ~near.reshape(high - low, -1)
        return out


def make_take(
    recording: SkeletonSequence,
    features: FrameFeatures,
    classes: tuple[str, ...],
    number: int,
    certainty: Certainty,
    before: dict[str, int] | None = None,
) -> Take:
    """A recording prepared for training; without a subject it counts as a separate person.

    ``before`` are the frames of the window that ends in a point, by label.
    """
    joints, sizes = features.cleaner().clean(raw_joints(recording))
    n, rows = len(joints), []
    for s in recording.segments:
        if s.start < n:
            start, stop = s.start, min(s.stop, n)
            if s.is_point:
                start = max(0, stop - (before or {}).get(s.label, 2))
            if stop - start > 1:
                rows.append((start, stop, classes.index(s.label), s.is_point))
    table = np.array(rows, dtype=int).reshape(-1, 4)
    edge = certainty.edge
    unknown = np.full(n, certainty.partial and bool(recording.segments), dtype=float)
    for start, stop, _, _ in rows:
        unknown[start:stop] = 0.0
    if edge:
        for a, b, _, point in rows:
            for end in () if point else (a, b):
                unknown[max(0, round(end - edge)) : round(end + edge)] = 1.0
    return Take(
        joints.astype(np.float32),
        sizes,
        table[:, :2],
        table[:, 2],
        table[:, 3].astype(bool),
        recording.subject if recording.subject is not None else f"recording {number}",
        recording,
        np.concatenate([[0.0], np.cumsum(unknown)]),
        certainty,
    )


def cut_examples(
    takes: Sequence[Take],
    candidates: Sequence[Candidates],
    classes: tuple[str, ...],
    most: int,
) -> tuple[list[SkeletonSequence], list[str], list[int]]:
    """At most ``most`` examples: true segments, good candidates of each, and background candidates,
    those most like an action first.
    """
    true: list[tuple[int, np.ndarray, int]] = []
    good: list[tuple[int, np.ndarray, int]] = []
    background: list[tuple[float, int, np.ndarray]] = []
    for i, (take, c) in enumerate(zip(takes, candidates, strict=True)):
        true += [(i, w, int(k)) for w, k in zip(take.windows, take.codes, strict=True)]
        near = overlaps(c.windows, take.windows, take.certainty.edge)
        if len(take.windows) and len(c.windows):
            # of each true segment
            for best in np.argsort(-near, axis=0, kind="stable")[:_MOST_NEAR]:
                good += [
                    (i, c.windows[best[k]], int(take.codes[k]))
                    for k in range(len(best))
                    if near[best[k], k] >= _NEAR
                ]
        margin = c.light[:, :-1].max(axis=1) - c.light[:, -1]
        far = np.flatnonzero(take.is_background(c.windows, _FAR))
        if (
            take.certainty.partial
        ):  # most of what is unknown is background; not what is like actions
            perhaps = np.flatnonzero(take.is_background(c.windows, _FAR, perhaps=True))
            usual = np.median(margin[perhaps]) if len(perhaps) else 0.0
            far = np.union1d(far, perhaps[margin[perhaps] <= usual])
        background += [(-margin[j], i, c.windows[j]) for j in far]
    if not background:
        raise DataError("the recordings contain no background: every frame belongs to an action")
    background.sort(key=lambda item: item[:2])
    # The first share of examples is for actions; the rest goes to the background.
    actions = _spread(true, most // 2, [takes[i].person for i, *_ in true])
    actions += _spread(good, most // 2 - len(actions), [takes[i].person for i, *_ in good])
    quiet = background[: min(int(_BACKGROUND_SHARE * len(actions)) or 1, most - len(actions))]
    chosen = [(i, w, classes[k]) for i, w, k in actions]
    chosen += [(i, w, BACKGROUND) for _, i, w in quiet]
    recordings = [takes[i].cut(w[None])[0] for i, w, _ in chosen]
    return recordings, [label for *_, label in chosen], [i for i, *_ in chosen]


def _spread(
    items: list[tuple[int, np.ndarray, int]], most: int, people: Sequence[str]
) -> list[tuple[int, np.ndarray, int]]:
    """At most so many, of all classes and people in turn."""
    if len(items) <= most:
        return items
    codes = np.array([k for *_, k in items])
    return [items[j] for j in sample_rows(codes, people, max(most, 0))] if most > 0 else []
