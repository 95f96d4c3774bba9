"""How often a movement is repeated, and how regularly, for exercises and physiotherapy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneton.parallel.threads import one_blas_thread


@dataclass(frozen=True)
class Repetitions:
    """Repetitions of one movement."""

    count: int
    period: float | None  # mean seconds from one repetition to the next; None for fewer than two
    # 1 for a metronome: 1 - spread of the periods / their mean, at least 0
    regularity: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"count": self.count, "period": self.period, "regularity": self.regularity}


def count_repetitions(joints: np.ndarray, fps: float) -> Repetitions:
    """Count repetitions in the frames (T, J, 3) of one action.

    The body, centred, is projected on the direction in which it moves most; a repetition is a peak
    of that curve, smoothed over a tenth of a second, whose prominence is more than a third of the
    range.

    >>> t = np.arange(120) / 30
    >>> joints = np.zeros((120, 4, 3))
    >>> joints[:, 3, 1] = np.sin(2 * np.pi * t)
    >>> found = count_repetitions(joints, 30.0)
    >>> found.count, round(found.period, 1), found.regularity > 0.95
    (4, 1.0, True)
    """
    _, best = _swings(joints, fps)
    if len(best) < 2:
        return Repetitions(len(best), None, None)
    periods = np.diff(best) / fps
    regularity = max(0.0, 1.0 - float(periods.std() / periods.mean()))
    return Repetitions(len(best), round(float(periods.mean()), 3), round(regularity, 3))


def repetition_spans(joints: np.ndarray, fps: float) -> list[tuple[int, int]]:
    """First frame, and frame after the last, of each repetition that `count_repetitions` counts:
    from one turning point to the next.

    >>> t = np.arange(120) / 30
    >>> joints = np.zeros((120, 4, 3))
    >>> joints[:, 3, 1] = -np.cos(2 * np.pi * t)
    >>> repetition_spans(joints, 30.0)
    [(0, 30), (30, 60), (60, 90), (90, 120)]
    """
    curve, peaks = _swings(joints, fps)
    if not len(peaks):
        return []
    turns = [int(a + np.argmin(curve[a : b + 1])) for a, b in itertools.pairwise(peaks)]
    first = int(np.argmin(curve[: peaks[0] + 1]))
    last = int(peaks[-1] + np.argmin(curve[peaks[-1] :])) + 1
    return list(itertools.pairwise([first, *turns, last]))


def _swings(joints: np.ndarray, fps: float) -> tuple[np.ndarray, np.ndarray]:
    """The curve of a movement, the end that is reached more often upwards, and its peaks; one at
    least if anything moves.
    """
    from scipy.ndimage import gaussian_filter1d
    from scipy.signal import find_peaks

    x = np.array(joints, dtype=float)
    flat = x.reshape(len(x), -1)
    at = np.arange(len(x))
    for column in flat.T:  # gaps are bridged
        ok = np.isfinite(column)
        column[~ok] = np.interp(at[~ok], at[ok], column[ok]) if ok.any() else 0.0
    x = flat.reshape(x.shape)
    x -= x.mean(axis=1, keepdims=True)
    flat = x.reshape(len(x), -1)
    flat = flat - flat.mean(axis=0)
    if len(x) < 4 or not np.abs(flat).max() > 0:
        return np.zeros(len(x)), np.zeros(0, dtype=int)
    with one_blas_thread():
        _, directions = np.linalg.eigh(flat.T @ flat)  # ten times faster than singular values
    curve = gaussian_filter1d(flat @ directions[:, -1], max(fps / 20, 0.5), mode="nearest")
    swing = float(curve.max() - curve.min())
    best, upwards = np.zeros(0, dtype=int), 1.0
    for sign in (
        1.0,
        -1.0,
    ):  # count the end of the movement that is reached more often
        peaks, _ = find_peaks(
            sign * curve, prominence=0.35 * swing, distance=max(1, round(0.2 * fps))
        )
        if len(peaks) > len(best):
            best, upwards = peaks, sign
    if not len(best):  # one movement that does not come back
        best = np.array([int(curve.argmax())])
    return upwards * curve, best
