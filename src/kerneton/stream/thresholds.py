"""Thresholds of reports, from held-out training people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kerneton.exceptions import DataError
from kerneton.stream.detection import Detection
from kerneton.stream.examples import RIGHT, Take
from kerneton.stream.metrics import (
    ACTION_POINT_SECONDS,
    TOLERANCE,
    match_segments,
    segment_counts,
)
from kerneton.stream.selection import Order, Paths
from kerneton.stream.verify import Candidates, Verifier

_TRIED = np.arange(-2.5, 2.51, 0.25)  # thresholds, in log odds


def held_out_segments(
    candidates: Sequence[Candidates],
    verifier: Verifier,
    classes: tuple[str, ...],
    orders: Sequence[Order | None],
    threshold: float,
) -> list[list[Detection]]:
    """Segments that would be reported in the training recordings at a threshold, each without its
    own person in training.
    """
    out = []
    for c, order in zip(candidates, orders, strict=True):
        slack = 0.0 if order is None else max(0.0, float(order.table.max()))
        rows = zip(c.windows, c.labels(), verifier.log_odds(c), strict=True)
        found = [
            Detection(classes[k], int(a), int(b), score=float(float(z)))
            for (a, b), k, z in rows
            if z > threshold - slack
        ]
        paths = Paths(found, [d.score - threshold for d in found], order)
        out.append(
            [replace(d := found[paths.at[i]], score=d.score + paths.extra[i]) for i in paths.best()]
        )
    return out


def choose_threshold(
    candidates: Sequence[Candidates],
    takes: Sequence[Take],
    verifier: Verifier,
    classes: tuple[str, ...],
    false_alarms_per_hour: float | None,
    fps: float | None,
    orders: Sequence[Order] | None = None,
) -> tuple[float, dict[str, float]]:
    """The threshold, and its results on held-out people."""
    if false_alarms_per_hour is not None and fps is None:
        raise DataError("false alarms per hour need recordings that know their frame rate (fps=)")
    truth = [t.recording.segments for t in takes]
    hours = sum(t.known_frames for t in takes) / (fps or 30.0) / 3600
    tolerance = ACTION_POINT_SECONDS * fps if fps else TOLERANCE

    def at(threshold: float) -> list[list[Detection]]:
        return held_out_segments(
            candidates, verifier, classes, orders or [None] * len(takes), threshold
        )

    if false_alarms_per_hour is None:
        f1 = np.array(
            [segment_counts(truth, at(float(z)), RIGHT, tolerance=tolerance).f1 for z in _TRIED]
        )
        near = np.convolve(np.pad(f1, 1, "edge"), np.ones(3) / 3, "valid")  # not a peak by chance
        threshold = float(np.median(_TRIED[near >= near.max() - 1e-9]))
    else:
        threshold = 0.0
        for _ in range(4):  # the threshold also affects which candidates compete, so repeat
            found = at(threshold - 2)
            pairs = [
                match_segments(t, f, RIGHT, tolerance) for t, f in zip(truth, found, strict=True)
            ]
            false = [
                d.score
                for f, p in zip(found, pairs, strict=True)
                for d, m in zip(f, p, strict=True)
                if m is None
            ]
            threshold = threshold_for_alarms(np.array(false), hours, false_alarms_per_hour)
    counts = segment_counts(truth, at(threshold), RIGHT, tolerance=tolerance)
    return threshold, {
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "false_alarms_per_hour": (counts.found - counts.right) / hours,
    }


def threshold_for_alarms(false: np.ndarray, hours: float, rate: float) -> float:
    """The threshold above which false alarms come at ``rate`` per hour, from the scores of those in
    ``hours``.

    If the recordings are too short for such a low rate, the tail is extrapolated as exponential:
    N(z > θ) = n exp(-(θ - u) / s), with u and s from the upper half of the scores.

    >>> threshold_for_alarms(np.linspace(0, 1, 101), hours=1.0, rate=10.0).__round__(2)
    0.9
    """
    false = np.sort(np.asarray(false, dtype=float))[::-1]
    allowed = rate * hours
    if len(false) < 2:
        return float(false[0]) + 1.0 if len(false) else 0.0
    if allowed >= 1:
        at = min(int(allowed), len(false) - 1)
        return float(false[at])
    upper = false[: max(2, min(len(false) // 2, 50))]
    start = float(upper[-1])
    spread = max(float(np.mean(upper - start)), 1e-3)
    return max(start + spread * float(np.log(len(upper) / max(allowed, 1e-12))), float(false[0]))
