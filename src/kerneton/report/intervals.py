"""Confidence intervals of accuracies, over recordings or people, and calibration of
probabilities.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kerneton.data.parameters import check_positive
from kerneton.exceptions import DataError

LEVEL = 0.95
_Z = 1.959963984540054  # two-sided 95 % point of the normal distribution
_PEOPLE = 3  # fewer do not show the spread between people
_GAP, _MARGIN = (
    0.02,
    0.05,
)  # the smallest gap that matters, and the largest margin at which "no gap" is stated


@dataclass(frozen=True)
class Interval:
    """An interval of ``level`` confidence for a share, as fractions.

    ``n_tests`` counts recordings, each once; ``n_subjects`` is the number of people over which the
    spread is taken, None where recordings count as independent.
    """

    low: float
    high: float
    n_tests: int
    n_subjects: int | None = None
    level: float = LEVEL

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        method = "Wilson" if self.n_subjects is None else "Wilson over subjects"
        return {**asdict(self), "method": method}

    def __str__(self) -> str:
        return f"{100 * self.low:.1f} to {100 * self.high:.1f}"


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval for a share of ``n`` independent tests; it has a width even where all
    were right.

    ``(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)`` with z = 1.96.

    >>> low, high = wilson(1.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    middle = share + _Z**2 / (2 * n)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    scale = 1 + _Z**2 / n
    # Rounding must not push a bound past the share itself.
    low, high = min((middle - half) / scale, share), max((middle + half) / scale, share)
    return float(max(low, 0.0)), float(min(high, 1.0))


def interval(right: Any, subjects: Any = None, share: float | None = None) -> Interval:
    """The interval of an accuracy: for new people, where at least three were recorded.

    ``right`` (n,) is 0 or 1 for each recording, or its mean where a recording was tested several
    times; ``subjects`` (n,) are the people recorded. Recordings of one person resemble each other,
    so n of them carry less information than n independent ones. Following Korn and Graubard for
    clustered samples, Wilson's interval is taken for the effective number of tests

        n' = max(n²/Σm², n · min(1, p(1-p)/n / v) · (z / t)²)

    with v the variance of the accuracy over people, t the quantile of Student's distribution for
    this number of people, and m the number of recordings of each: even identical recordings of a
    person carry as much information as one. ``share`` is the accuracy around which the interval
    lies, by default the mean of ``right``.

    >>> right = [0, 0, 0, *[1] * 27]
    >>> str(interval(right)), str(interval(right, ["ann"] * 10 + ["bob"] * 10 + ["cid"] * 10))
    ('74.4 to 96.5', '35.8 to 99.3')
    """
    right = np.asarray(right, dtype=float)
    n, p = len(right), float(right.mean()) if share is None else float(share)
    names = None if subjects is None else np.unique(np.asarray(subjects), return_inverse=True)
    if names is None or len(names[0]) < _PEOPLE:
        return Interval(*wilson(p, n), n_tests=n)
    k = len(names[0])
    error = np.bincount(names[1], weights=right - right.mean(), minlength=k) / n  # of each person
    variance = k / (k - 1) * float(error @ error)
    chance = float(right.mean() * (1 - right.mean())) / n
    kept = min(1.0, chance / variance) if variance > 0 else 1.0
    # if all recordings of a person were
    identical = n**2 / float((np.bincount(names[1]) ** 2).sum())
    from scipy.stats import t  # slow to import, and needed only where people are counted

    quantile = float(t.ppf(0.5 + LEVEL / 2, k - 1))
    effective = max(identical, n * kept * (_Z / quantile) ** 2)
    return Interval(*wilson(p, effective), n_tests=n, n_subjects=k)


def of_splits(index: Any, right: Any, subjects: Any, share: float | None = None) -> Interval:
    """`interval` of the tests of several splits; see `per_recording`.

    ``subjects`` are those of all recordings, None if they are not known.

    >>> str(of_splits([0, 0, 1], [1, 1, 0], None))
    '9.5 to 90.5'
    """
    tested, shares = per_recording(index, right)
    return interval(shares, None if subjects is None else np.asarray(subjects)[tested], share)


def per_recording(index: Any, right: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the tested recordings, each once, and the share of their tests that was right.

    ``index`` and ``right`` (n,) are the recording of each test and whether it was right.
    """
    tested, place, times = np.unique(index, return_inverse=True, return_counts=True)
    return tested, np.bincount(place, weights=np.asarray(right, dtype=float)) / times


@dataclass(frozen=True)
class Bin:
    """Recordings predicted with a probability between ``low`` and ``high``."""

    low: float
    high: float
    count: int
    confidence: float  # the mean of the probabilities; NaN without recordings
    accuracy: float  # the share that was right; NaN without recordings


def reliability(proba: Any, y: Any, classes: Any, n_bins: int = 10) -> list[Bin]:
    """Predictions in bins of their probability, with the share that was right: the data of a
    reliability diagram.

    ``proba`` (n, n_classes) has the columns ``classes``; ``y`` (n,) are the true labels. A label
    that is not among the classes counts as a mistake. Bins are of equal width over [0, 1].

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
        both = (
            (confidence[inside].mean(), right[inside].mean()) if inside.any() else (np.nan, np.nan)
        )
        bins.append(
            Bin(k / n_bins, (k + 1) / n_bins, int(inside.sum()), float(both[0]), float(both[1]))
        )
    return bins


def expected_calibration_error(proba: Any, y: Any, classes: Any, n_bins: int = 10) -> float:
    """Mean difference between accuracy and confidence over bins of the probability.

    ``Σ_bins n_bin/n |accuracy - confidence|``; 0 for perfectly calibrated probabilities.

    >>> round(
    ...     expected_calibration_error([[0.9, 0.1], [0.3, 0.7]], ["bow", "bow"], ["bow", "wave"]), 3
    ... )
    0.4
    """
    bins = [b for b in reliability(proba, y, classes, n_bins) if b.count]
    total = sum(b.count for b in bins)
    return sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / total if total else 0.0


@dataclass(frozen=True)
class Calibration:
    """Whether probabilities are calibrated, as far as the number of tests can show.

    ``said`` and ``right`` are the mean probability of the predictions and the share of correct
    ones. Even perfectly calibrated probabilities would differ from that share by up to ``margin``
    (95 %) and have an expected calibration error of about ``error_by_chance``. ``verdict`` is None
    if there are too few tests.
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
    """Reliability in bins, the expected calibration error, and a verdict if there are enough tests.

    A prediction of probability p is right with variance p(1-p). The mean gap of n of them has the
    standard error ``√Σ p(1-p) / n``, and the gap of a bin has a mean size of ``√(2/π)`` times its
    standard error. The verdict is a gap if it exceeds 1.96 standard errors and two points, and
    agreement if the margin is at most five points.

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
