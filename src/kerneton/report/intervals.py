"""How well an accuracy is known: confidence intervals of a share of tests, over recordings or over people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

LEVEL = 0.95
_Z = 1.959963984540054  # two-sided 95 % point of the normal distribution
_PEOPLE = 3  # fewer say nothing about the spread between people


@dataclass(frozen=True)
class Interval:
    """An interval of ``level`` confidence for a share, as fractions of one.

    ``n_tests`` counts recordings, each once; ``n_subjects`` is the number of people that the spread is taken over, None
    where recordings count as independent.
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
    """Wilson's 95 % interval for a share of ``n`` independent tests; it has a width even where all were right.

    ``(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)`` with z = 1.96.

    >>> low, high = wilson(1.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    middle = share + _Z**2 / (2 * n)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    scale = 1 + _Z**2 / n
    # Rounding must not push a bound past the share itself.
    return float(min(max((middle - half) / scale, 0.0), share)), float(
        max(min((middle + half) / scale, 1.0), share)
    )


def interval(right: Any, subjects: Any = None, share: float | None = None) -> Interval:
    """The interval of an accuracy: for people other than these, where at least three were recorded.

    ``right`` (n,) is 0 or 1 for each recording, or its mean where a recording was tested several times; ``subjects`` (n,)
    names who was recorded. Recordings of one person resemble each other, so n of them say less than n independent
    ones. As Korn and Graubard do for clustered samples, Wilson's interval is taken for the effective number of tests

        n' = max(n²/Σm², n · min(1, p(1-p)/n / v) · (z / t)²)

    with v the variance of the accuracy over people, t the quantile of Student's distribution for as many people, and m
    the recordings of each: if all recordings of a person were alike, they would still tell as much as one.
    ``share`` is the accuracy to put the interval around, by default the mean of ``right``.

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
    alike = n**2 / float((np.bincount(names[1]) ** 2).sum())
    effective = max(alike, n * kept * (_Z / _student(k - 1)) ** 2)
    return Interval(*wilson(p, effective), n_tests=n, n_subjects=k)


def _student(degrees: int) -> float:
    """The two-sided 95 % point of Student's distribution."""
    from scipy.stats import t  # heavy, and needed only where people are counted

    return float(t.ppf(0.5 + LEVEL / 2, degrees))
