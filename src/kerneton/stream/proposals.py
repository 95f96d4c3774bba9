"""A fast linear model that scores every window of a recording, to propose candidates; how it is
learnt is in `kerneton.stream.mining`.

A window has four cells of equal length, and one cell before and one after it. Its features are the
mean frame features in each cell. The score is linear, so frames are projected first, and a window
of any length needs six differences of running sums. (Sharaf et al. and Meshry et al. score windows
in a similar way.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CELLS = 4
CONTEXT = 8  # frames before and after a window, at most; a third of its length if that is less
_RATIO = 1.13  # between neighbouring lengths


@dataclass
class WindowScorer:
    """Scores of all classes, the background last, for windows; learned by ridge regression, with
    near misses as examples.
    """

    coef: np.ndarray  # (n_classes + 1, CELLS + 2, D)
    intercept: np.ndarray  # (n_classes + 1,)
    lengths: np.ndarray  # of windows, in frames

    def project(self, features: np.ndarray) -> np.ndarray:
        """(n, D) → (n, (n_classes + 1) (CELLS + 2)), the contribution of each frame to each cell of
        a window.
        """
        k, c, d = self.coef.shape
        return features @ self.coef.reshape(k * c, d).T.astype(features.dtype)

    def score(self, sums: np.ndarray, windows: np.ndarray) -> np.ndarray:
        """(n_windows, n_classes + 1) from running sums (n + 1, ...) of projections, windows as
        (start, stop) in them.
        """
        k, c, _ = self.coef.shape
        table = sums.reshape(len(sums), k, c)
        edges = np.clip(cell_edges(windows), 0, len(sums) - 1)
        widths = np.diff(edges, axis=1)
        share = np.where(
            widths > 0.25, 1 / np.maximum(widths, 0.25), 0.0
        )  # a cell beyond an end has no frames
        low = np.minimum(edges.astype(int), len(sums) - 2)
        part = edges - low
        out = np.tile(self.intercept, (len(windows), 1))
        for cell in range(c):
            column = table[:, :, cell]
            a, b = (
                column[low[:, i]] * (1 - part[:, i, None])
                + column[low[:, i] + 1] * part[:, i, None]
                for i in (cell, cell + 1)
            )
            out += (b - a) * share[:, cell, None]
        return out

    def grid(self, sums: np.ndarray, first: int, last: int) -> np.ndarray:
        """(last - first, n_lengths, n_classes + 1) scores of the windows of all lengths that start
        in [first, last); those that end after the sums are -inf.

        Bounds of cells move with the start, so that a length needs differences of slices only.
        """
        k, c, _ = self.coef.shape
        table = sums.reshape(len(sums), k, c)
        n_frames = len(sums) - 1
        out = np.full((last - first, len(self.lengths), k), -np.inf)
        for j, n in enumerate(self.lengths):
            (edges,) = cell_edges(np.array([[0, n]]))
            ends = min(last, n_frames - n + 1)
            # where no bound has to be clipped to the recording
            low = max(first, int(np.ceil(-edges[0])))
            high = min(ends, n_frames - int(np.ceil(edges[-1])))
            if high > low:
                found = np.tile(self.intercept, (high - low, 1))
                whole = np.floor(edges).astype(int)
                for cell in range(c):
                    column, share = table[:, :, cell], 1 / (edges[cell + 1] - edges[cell])
                    for sign, i in ((-share, cell), (share, cell + 1)):
                        at, part = low + whole[i], edges[i] - whole[i]
                        found += sign * (1 - part) * column[at : at + high - low]
                        if part > 0:
                            found += sign * part * column[at + 1 : at + 1 + high - low]
                out[low - first : high - first, j] = found
            others = np.r_[first : min(low, ends), max(low, high) : max(low, high, ends)]
            if len(others):
                windows = np.stack([others, others + n], axis=1)
                out[others - first, j] = self.score(sums, windows)
        return out

    def seen_through(self, basis: np.ndarray) -> WindowScorer:
        """The same scores from features (n, D) that this scorer gives for ``features @ basis``."""
        return WindowScorer(self.coef @ basis.T.astype(float), self.intercept, self.lengths)

    def get_state(self) -> dict[str, Any]:
        """The learned arrays, for a file."""
        return {"coef": self.coef, "intercept": self.intercept, "lengths": self.lengths.tolist()}


def cell_edges(windows: np.ndarray) -> np.ndarray:
    """(n, CELLS + 3) bounds of the cells of windows, including the cells before and after the
    window.

    >>> cell_edges(np.array([[40, 60]])).tolist()
    [[33.333333333333336, 40.0, 45.0, 50.0, 55.0, 60.0, 66.66666666666667]]
    """
    start, stop = windows[:, :1].astype(float), windows[:, 1:].astype(float)
    beyond = np.minimum((stop - start) / 3, CONTEXT)
    inside = start + (stop - start) * np.arange(CELLS + 1) / CELLS
    return np.concatenate([start - beyond, inside, stop + beyond], axis=1)


def running_sums(values: np.ndarray) -> np.ndarray:
    """(n + 1, ...) sums of the first 0, 1, ..., n rows."""
    return np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])


def window_lengths(durations: Sequence[int]) -> np.ndarray:
    """Lengths from the shortest training segment to a little more than the longest, each 13 %
    longer than the one before.

    >>> window_lengths([10, 14])
    array([ 9, 10, 11, 13, 15, 17])
    """
    low = max(2, 0.9 * min(durations))
    high = max(low, 1.1 * max(durations))
    n = int(np.ceil(np.log(high / low) / np.log(_RATIO)))
    return np.unique(np.round(low * _RATIO ** np.arange(n + 1)).astype(int))


def overlaps(windows: np.ndarray, others: np.ndarray, edge: float = 0.0) -> np.ndarray:
    """(n, m) intersection over union; bounds of the others may move by ``edge`` towards a window's.

    >>> overlaps(np.array([[0, 10]]), np.array([[5, 15], [20, 30]])).round(2).tolist()
    [[0.33, 0.0]]
    >>> overlaps(np.array([[0, 10]]), np.array([[5, 15]]), edge=5).round(2).tolist()
    [[1.0]]
    """
    a, b = windows[:, :1], windows[:, 1:]
    start, stop = others[None, :, 0], others[None, :, 1]
    if edge:
        middle = (start + stop) / 2
        start = np.minimum(np.clip(a, start - edge, start + edge), middle)
        stop = np.maximum(np.clip(b, stop - edge, stop + edge), middle)
    shared = np.maximum(np.minimum(b, stop) - np.maximum(a, start), 0)
    return shared / np.maximum((b - a) + (stop - start) - shared, 1e-9)


def cell_means(sums: np.ndarray, windows: np.ndarray) -> np.ndarray:
    """(n, (CELLS + 2) D) means of the features in each cell of windows, from running sums."""
    edges = np.clip(cell_edges(windows), 0, len(sums) - 1)
    low = np.minimum(edges.astype(int), len(sums) - 2)
    part = (edges - low)[..., None]
    values = np.diff(sums[low] * (1 - part) + sums[low + 1] * part, axis=1)
    widths = np.diff(edges, axis=1)[..., None]
    means = np.where(widths > 0.25, values / np.maximum(widths, 0.25), 0.0)
    return means.reshape(len(windows), -1)
