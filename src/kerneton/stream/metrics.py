"""Metrics of spotting: F1 and average precision by overlap, action points, frames, false alarms,
latency.

Truth and detections are given per recording: two lists of equal length, whose items are the
segments of one recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kerneton.data.segments import Segment, frame_labels
from kerneton.exceptions import DataError
from kerneton.stream.detection import Detection

Truth = Sequence[Sequence[Segment]]
Found = Sequence[Sequence[Detection]]
THRESHOLDS = (0.3, 0.5, 0.7)  # usual thresholds of intersection over union
ACTION_POINT_SECONDS = 1 / 3  # tolerance of action points: ten frames at 30 Hz


@dataclass(frozen=True)
class Counts:
    """Numbers of right detections, of all detections and of true segments, and the ratios computed
    from them.

    >>> Counts(right=8, found=10, true=16).f1
    0.6153846153846154
    """

    right: int
    found: int
    true: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.found + self.true) if self.found + self.true else 1.0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.right + other.right, self.found + other.found, self.true + other.true)


TOLERANCE = 10.0  # frames around a point, where no frame rate is given: 1/3 s at 30 Hz


def match_segments(
    truth: Sequence[Segment],
    found: Sequence[Detection],
    iou: float = 0.5,
    tolerance: float = TOLERANCE,
) -> list[int | None]:
    """For each detection the true segment that it finds, or None.

    Detections are matched in the order of falling score, each with the unmatched true segment of
    its label that has the largest intersection over union, if this is at least ``iou``; or with the
    nearest point, if this is within ``tolerance`` frames of the end of the detection.

    >>> match_segments(
    ...     [Segment("wave", 0, 10)], [Detection("wave", 1, 10), Detection("clap", 0, 10)]
    ... )
    [0, None]
    >>> match_segments([Segment.at("kick", 90)], [Detection("kick", 60, 95)])
    [0]
    """
    matches: list[int | None] = [None] * len(found)
    free = set(range(len(truth)))
    for i in sorted(
        range(len(found)), key=lambda i: (-found[i].score, found[i].start, found[i].stop)
    ):
        same = [k for k in sorted(free) if truth[k].label == found[i].label]
        values = {k: _agreement(found[i], truth[k], iou, tolerance) for k in same}
        best = max(values, key=values.__getitem__, default=None)
        if best is not None and values[best] >= 0:
            matches[i] = best
            free.remove(best)
    return matches


def _agreement(found: Segment, true: Segment, iou: float, tolerance: float) -> float:
    """How well a detection agrees with a true segment; below zero if it does not find it."""
    if true.is_point:
        return 1 - abs(found.stop - true.stop) / max(tolerance, 1e-9)
    return found.iou(true) - iou


def segment_counts(
    truth: Truth,
    found: Found,
    iou: float = 0.5,
    label: str | None = None,
    tolerance: float = TOLERANCE,
) -> Counts:
    """Counts over all recordings, of one label or of all.

    >>> segment_counts(
    ...     [[Segment("wave", 0, 10)]], [[Detection("wave", 0, 9), Detection("wave", 20, 30)]]
    ... )
    Counts(right=1, found=2, true=1)
    """
    _check(truth, found)
    total = Counts(0, 0, 0)
    for true, detected in zip(truth, found, strict=True):
        if label is not None:
            true = [s for s in true if s.label == label]
            detected = [d for d in detected if d.label == label]
        right = sum(m is not None for m in match_segments(true, detected, iou, tolerance))
        total += Counts(right, len(detected), len(true))
    return total


def average_precision(truth: Truth, found: Found, label: str, iou: float = 0.5) -> float:
    """Area under precision over recall of one label, precision made monotone from the right.

    Detections of all recordings are ranked by score; AP = Σ_k (r_k - r_{k-1}) max_{j ≥ k} p_j.

    >>> truth = [[Segment("wave", 0, 10), Segment("wave", 20, 30)]]
    >>> found = [
    ...     [
    ...         Detection("wave", 0, 10, score=2.0),
    ...         Detection("wave", 50, 60, score=1.0),
    ...         Detection("wave", 20, 30, score=0.5),
    ...     ]
    ... ]
    >>> round(average_precision(truth, found, "wave"), 4)
    0.8333
    """
    _check(truth, found)
    scores: list[float] = []
    right: list[bool] = []
    n_true = 0
    for true, detected in zip(truth, found, strict=True):
        true, mine = (
            [s for s in true if s.label == label],
            [d for d in detected if d.label == label],
        )
        n_true += len(true)
        right += [m is not None for m in match_segments(true, mine, iou)]
        scores += [d.score for d in mine]
    if not n_true:
        return float("nan")
    if not scores:
        return 0.0
    order = np.argsort(-np.asarray(scores), kind="stable")
    hits = np.cumsum(np.asarray(right)[order])
    precision = hits / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    recall = np.concatenate(([0.0], hits / n_true))
    return float(np.sum(np.diff(recall) * envelope))


def mean_average_precision(truth: Truth, found: Found, iou: float = 0.5) -> float:
    """Mean of `average_precision` over the labels of the truth."""
    labels = sorted({s.label for true in truth for s in true})
    if not labels:
        raise DataError("no true segments: average precision is undefined")
    return float(np.mean([average_precision(truth, found, label, iou) for label in labels]))


def action_points(
    truth: Sequence[Sequence[tuple[str, float]]],
    firings: Sequence[Sequence[tuple[str, float]]],
    tolerance: float = ACTION_POINT_SECONDS,
) -> dict[str, Counts]:
    """Counts per label where the truth is one moment per action (MSRC-12).

    Both hold (label, seconds). In order of time, a detection is right if an unmatched action point
    of its label is within ``tolerance``, and it is matched with the nearest. All others are false.

    >>> action_points([[("kick", 1.0)]], [[("kick", 1.3), ("kick", 1.1), ("kick", 2.0)]])["kick"]
    Counts(right=1, found=3, true=1)
    """
    if len(truth) != len(firings):
        raise DataError(f"truth of {len(truth)} recordings, firings of {len(firings)}")
    labels = sorted({label for points in [*truth, *firings] for label, _ in points})
    counts = {label: Counts(0, 0, 0) for label in labels}
    for points, fired in zip(truth, firings, strict=True):
        for label in labels:
            free = [time for name, time in points if name == label]
            mine = sorted(time for name, time in fired if name == label)
            n_true, right = len(free), 0
            for time in mine:
                nearest = min(free, key=lambda point: abs(point - time), default=None)
                # Frame times are fractions; allow for rounding.
                if nearest is not None and abs(nearest - time) <= tolerance + 1e-9:
                    free.remove(nearest)
                    right += 1
            counts[label] += Counts(right, len(mine), n_true)
    return counts


def action_point_f1(counts: dict[str, Counts]) -> float:
    """Mean over labels of the F score of `action_points`."""
    return float(np.mean([c.f1 for c in counts.values()])) if counts else 1.0


def frame_scores(
    truth: Truth, found: Sequence[Sequence[Segment]], n_frames: Sequence[int]
) -> tuple[float, float]:
    """Accuracy by frame and the mean of F1 by frame over labels; the background counts as a label.

    >>> frame_scores([[Segment("wave", 0, 5)]], [[Segment("wave", 0, 4)]], [10])
    (0.9, 0.898989898989899)
    """
    _check(truth, found)
    pairs = zip(truth, found, n_frames, strict=True)
    labels = [(frame_labels(true, n), frame_labels(detected, n)) for true, detected, n in pairs]
    true, guess = (np.concatenate(side) for side in zip(*labels, strict=True))
    scores = []
    for label in sorted(set(true) | set(guess)):
        both = np.sum((true == label) & (guess == label))
        scores.append(2 * both / (np.sum(true == label) + np.sum(guess == label)))
    return float(np.mean(true == guess)), float(np.mean(scores))


def latencies(
    truth: Truth, found: Found, iou: float = 0.5, tolerance: float = TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """Frames from the true start, and from the true end, to the report of each right detection;
    points have no start.

    >>> latencies([[Segment("wave", 10, 40)]], [[Detection("wave", 12, 40, decided=47)]])
    (array([37.]), array([7.]))
    """
    _check(truth, found)
    starts, stops = [], []
    for true, detected in zip(truth, found, strict=True):
        for d, match in zip(detected, match_segments(true, detected, iou, tolerance), strict=True):
            if match is not None and d.decided is not None:
                if not true[match].is_point:
                    starts.append(d.decided - true[match].start)
                stops.append(d.decided - true[match].stop)
    return np.asarray(starts, dtype=float), np.asarray(stops, dtype=float)


def _check(truth: Sequence[Iterable[Segment]], found: Sequence[Iterable[Segment]]) -> None:
    if len(truth) != len(found):
        raise DataError(f"truth of {len(truth)} recordings, detections of {len(found)}")
