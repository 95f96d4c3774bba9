"""The number of joints per frame in files with one joint per row, and the place of a missing row,
from the motion.
"""

from __future__ import annotations

import numpy as np

_MOST, _SEEN = 128, 6000  # largest number of joints, and number of rows, that are tried
_CLEAR = 2.0  # ratio by which rows must be nearer to those one frame later than to others


def frame_size(points: np.ndarray) -> int | None:
    """The number of joints of a frame, from the motion of points (N, 3); None if it is not clear.

    Rows that are J rows apart are close to each other if they are the same joint. d(J) is the
    median of this distance; J is clear if all other d, except of multiples of J, are at least twice
    d(J).

    >>> pose = np.random.default_rng(0).normal(size=(15, 3))
    >>> moving = np.concatenate([pose + 0.01 * t for t in range(8)])
    >>> frame_size(moving), frame_size(np.ones((60, 3)))
    (15, None)
    """
    points = _moving(points)
    apart = np.full(_MOST + 1, np.inf)
    for lag in range(2, min(_MOST, len(points) // 2) + 1):
        apart[lag] = _apart(points, lag)
    if not np.isfinite(apart).any():
        return None
    size = int(np.flatnonzero(apart <= 1.01 * apart.min())[0])
    others = np.delete(apart, np.r_[0, 1, size : _MOST + 1 : size])
    clear = 0 < others.min() < np.inf and others.min() >= _CLEAR * apart[size]
    return size if clear else None


def is_frame_size(size: int, points: np.ndarray) -> bool:
    """Whether the motion of points (N, 3) agrees with frames of ``size`` rows: d(size) is clearly
    less than its neighbours.
    """
    points = _moving(points)
    return _CLEAR * _apart(points, size) < min(
        _apart(points, size + 1), _apart(points, max(size - 1, 1))
    )


def other_size(size: int, points: np.ndarray) -> int | None:
    """The number of joints of a frame where ten frames or more show that it is neither ``size``,
    nor a part nor a multiple of it.
    """
    seen = frame_size(points) if len(points) >= 10 * size else None
    return seen if seen and len(points) >= 10 * seen and size % seen and seen % size else None


def _moving(points: np.ndarray) -> np.ndarray:
    """The first rows that are not at the origin, where those at the origin are NaN."""
    points = np.where((points != 0).any(axis=1, keepdims=True), points, np.nan)
    start = int(np.argmax(np.isfinite(points).all(axis=1)))
    return points[start : start + _SEEN]


def _apart(points: np.ndarray, lag: int) -> float:
    apart = np.linalg.norm(points[lag:] - points[:-lag], axis=1)
    apart = apart[np.isfinite(apart)]
    return float(np.median(apart)) if len(apart) else np.inf


def slip(points: np.ndarray, size: int) -> int | None:
    """The row near which rows are missing or added; None if there is no such place.

    Where a row is missing, the rows of a whole frame are much more like those ``size - 1`` rows
    before than like those ``size`` rows before. Of a fast movement they are like neither.
    """
    points = np.where((points != 0).any(axis=1, keepdims=True), points, np.nan)
    if len(points) < 3 * size:
        return None
    usual, rest = _changes(points, size, size, 0.0), len(points) % size
    lags = {size - 1, size + 1, rest, size + rest} - {0, size}
    least = np.min([_changes(points, lag, size, np.inf) for lag in lags], axis=0)
    row = int(np.argmax(usual - least))
    clear = usual[row] > _CLEAR * max(least[row], 2 * np.median(usual))
    return row if clear else None


def _changes(points: np.ndarray, lag: int, size: int, before: float) -> np.ndarray:
    """For each row, the distance of ``size`` rows from it on to those ``lag`` rows before, or
    ``before`` where none are, as a sum.
    """
    apart = np.nan_to_num(np.linalg.norm(points[lag:] - points[:-lag], axis=1), nan=0.0)
    apart = np.concatenate((np.full(lag, before), apart))
    return np.lib.stride_tricks.sliding_window_view(apart, size).sum(axis=1)
