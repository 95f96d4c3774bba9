"""Do probabilities mean what they say? Predictions by how sure they were, with the share that was right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.data.validation import check_positive
from kerneton.exceptions import DataError

_GAP, _MARGIN = 0.02, 0.05  # what matters of a gap, and how well it must be known to be called none


@dataclass(frozen=True)
class Bin:
    """Recordings predicted with a probability between ``low`` and ``high``."""

    low: float
    high: float
    count: int
    confidence: float  # the mean of the probabilities; NaN without recordings
    accuracy: float  # the share that was right; NaN without recordings


def reliability(proba: Any, y: Any, classes: Any, n_bins: int = 10) -> list[Bin]:
    """Predictions by their probability, with the share that was right: the numbers of a reliability diagram.

    ``proba`` (n, n_classes) has the columns ``classes``; ``y`` (n,) are the true labels. A label that is not among
    the classes counts as a mistake. Bins are of equal width over [0, 1].

    >>> bins = reliability([[0.9, 0.1], [0.3, 0.7]], ["bow", "bow"], ["bow", "wave"], n_bins=2)
    >>> [(b.count, b.confidence, b.accuracy) for b in bins]
    [(0, nan, nan), (2, 0.8, 0.5)]
    """
    proba, y, classes = np.asarray(proba, dtype=np.float64), np.asarray(y), np.asarray(classes)
    if proba.shape != (len(y), len(classes)):
        raise DataError(
            f"{len(y)} labels and {len(classes)} classes need probabilities of shape {(len(y), len(classes))}, "
            f"got {proba.shape}"
        )
    check_positive("n_bins", n_bins, integer=True)
    confidence, right = proba.max(axis=1), classes[proba.argmax(axis=1)] == y
    place = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    bins = []
    for k in range(n_bins):
        inside = place == k
        both = (confidence[inside].mean(), right[inside].mean()) if inside.any() else (np.nan, np.nan)
        bins.append(Bin(k / n_bins, (k + 1) / n_bins, int(inside.sum()), float(both[0]), float(both[1])))
    return bins


def expected_calibration_error(proba: Any, y: Any, classes: Any, n_bins: int = 10) -> float:
    """Mean distance between how sure and how right predictions are, over bins of their probability.

    ``Σ_bins n_bin/n |accuracy - confidence|``; 0 for probabilities that mean what they say.

    >>> round(expected_calibration_error([[0.9, 0.1], [0.3, 0.7]], ["bow", "bow"], ["bow", "wave"]), 3)
    0.4
    """
    bins = [b for b in reliability(proba, y, classes, n_bins) if b.count]
    total = sum(b.count for b in bins)
    return sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / total if total else 0.0


@dataclass(frozen=True)
class Calibration:
    """Whether probabilities mean what they say, and what so many tests can tell of it.

    ``said`` and ``right`` are the mean probability of the predictions and the share that was right. Probabilities
    that mean what they say would still differ from that share by up to ``margin`` (95 %) and have an
    expected calibration error of about ``error_by_chance``. ``verdict`` is None where the tests are too few.
    """

    n_tests: int
    said: float
    right: float
    margin: float
    error: float
    error_by_chance: float
    verdict: str | None  # "as sure as right", "too sure", "too modest"
    bins: list[Bin]


def calibration(proba: Any, y: Any, classes: Any, n_bins: int = 10) -> Calibration:
    """Reliability in bins, the expected calibration error, and a verdict where there are tests enough for one.

    A prediction of probability p is right with variance p(1-p). The mean gap of n of them has the standard error
    ``√Σ p(1-p) / n`` and each bin's gap a mean size of ``√(2/π)`` times its own. A gap beyond 1.96 standard errors and
    two points is a verdict; agreement is one where the margin is at most five points.

    >>> sure = calibration([[0.9, 0.1]] * 40, ["bow"] * 36 + ["wave"] * 4, ["bow", "wave"])
    >>> round(sure.margin, 3), sure.verdict
    (0.093, None)
    >>> calibration([[0.9, 0.1]] * 40, ["bow"] * 20 + ["wave"] * 20, ["bow", "wave"]).verdict
    'too sure'
    """
    bins = [each for each in reliability(proba, y, classes, n_bins) if each.count]
    top = np.asarray(proba, dtype=np.float64).max(axis=1)
    n, spread = len(top), top * (1 - top)
    place = np.clip(np.ceil(top * n_bins).astype(int) - 1, 0, n_bins - 1)
    by_chance = np.sqrt(2 / np.pi * np.bincount(place, weights=spread)).sum() / n
    said, right = float(top.mean()), sum(each.count * each.accuracy for each in bins) / n
    margin = float(1.96 * np.sqrt(spread.sum()) / n)
    verdict = None
    if abs(said - right) > max(margin, _GAP):
        verdict = "too sure" if said > right else "too modest"
    elif margin <= _MARGIN:
        verdict = "as sure as right"
    error = expected_calibration_error(proba, y, classes, n_bins)
    return Calibration(n, said, right, margin, error, float(by_chance), verdict, bins)
