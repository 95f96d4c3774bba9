"""A fast linear model that scores every window of a recording, to propose candidates.

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
_LAMBDA = 3e-3
_NEAR, _FAR = 0.75, 0.4  # overlap of examples of an action (at least) and of background (at most)
_ACTION_WEIGHT = 3.0


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
        return features @ self.coef.reshape(k * c, d).T

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


def all_windows(n_frames: int, lengths: np.ndarray) -> np.ndarray:
    """(n, 2) every (start, stop) of these lengths."""
    parts = [
        np.stack([np.arange(n_frames - n + 1), np.arange(n, n_frames + 1)], axis=1)
        for n in lengths
        if n <= n_frames
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 2), dtype=int)


def overlaps(windows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(n, m) intersection over union.

    >>> overlaps(np.array([[0, 10]]), np.array([[5, 15], [20, 30]])).round(2).tolist()
    [[0.33, 0.0]]
    """
    shared = np.minimum(windows[:, 1:], others[None, :, 1]) - np.maximum(
        windows[:, :1], others[None, :, 0]
    )
    shared = np.maximum(shared, 0)
    lengths = (windows[:, 1] - windows[:, 0])[:, None] + (others[:, 1] - others[:, 0])[None]
    return shared / (lengths - shared)


def fit_scorer(
    features: Sequence[np.ndarray],
    segments: Sequence[np.ndarray],
    codes: Sequence[np.ndarray],
    n_classes: int,
    lengths: np.ndarray,
    *,
    rounds: int = 3,
    seed: int = 0,
) -> WindowScorer:
    """Learn from recordings: features (T, D), true windows (n, 2) and their classes; near misses
    are added in each round.

    Regression of ±1 per class on the windows' features, with three times the weight for actions.
    After each round, the background windows that are most like an action are added as examples.
    """
    chance = np.random.default_rng(seed)
    sums = [running_sums(f) for f in features]
    windows = [all_windows(len(f), lengths) for f in features]
    near = [
        overlaps(w, s) if len(s) else np.zeros((len(w), 1))
        for w, s in zip(windows, segments, strict=True)
    ]
    X: list[np.ndarray] = []
    y: list[np.ndarray] = []

    def add(i: int, chosen: np.ndarray, labels: Any) -> None:
        if len(chosen):
            X.append(_cell_means(sums[i], chosen))
            y.append(np.broadcast_to(labels, len(chosen)))

    for i, (w, s) in enumerate(zip(windows, segments, strict=True)):
        add(i, s, codes[i])
        for k in range(len(s)):
            add(i, w[chance.permutation(np.flatnonzero(near[i][:, k] > _NEAR))[:3]], codes[i][k])
        add(i, w[chance.permutation(np.flatnonzero(near[i].max(axis=1) < _FAR))[:80]], n_classes)
    for turn in range(rounds):
        scorer = _ridge(np.concatenate(X), np.concatenate(y), n_classes, lengths)
        if turn == rounds - 1:
            break
        for i, w in enumerate(windows):
            add(i, _near_misses(scorer, sums[i], w, near[i].max(axis=1)), n_classes)
    return scorer


def _near_misses(
    scorer: WindowScorer, sums: np.ndarray, windows: np.ndarray, near: np.ndarray
) -> np.ndarray:
    """Background windows that are most like actions, at most one per 4 frames and three lengths."""
    far = np.flatnonzero(near < _FAR)
    if not len(far):
        return windows[:0]
    scores = scorer.score(running_sums(scorer.project(np.diff(sums, axis=0))), windows[far])
    margin = scores[:, :-1].max(axis=1) - scores[:, -1]
    size = np.searchsorted(scorer.lengths, windows[far, 1] - windows[far, 0]) // 3
    cell = windows[far, 0] // 4 * 1000 + size
    order = np.lexsort((-margin, cell))
    best = order[np.concatenate([[True], np.diff(cell[order]) != 0])]
    best = best[np.argsort(-margin[best], kind="stable")][: max(20, len(sums) // 12)]
    return windows[far[best[margin[best] > -1]]]


def _cell_means(sums: np.ndarray, windows: np.ndarray) -> np.ndarray:
    edges = np.clip(cell_edges(windows), 0, len(sums) - 1)
    low = np.minimum(edges.astype(int), len(sums) - 2)
    part = (edges - low)[..., None]
    values = np.diff(sums[low] * (1 - part) + sums[low + 1] * part, axis=1)
    widths = np.diff(edges, axis=1)[..., None]
    means = np.where(widths > 0.25, values / np.maximum(widths, 0.25), 0.0)
    return means.reshape(len(windows), -1)


def _ridge(X: np.ndarray, y: np.ndarray, n_classes: int, lengths: np.ndarray) -> WindowScorer:
    weights = np.where(y < n_classes, _ACTION_WEIGHT, 1.0)
    targets = np.where(y[:, None] == np.arange(n_classes + 1), 1.0, -1.0)
    mean, level = (
        np.average(X, axis=0, weights=weights),
        np.average(targets, axis=0, weights=weights),
    )
    root = np.sqrt(weights)[:, None]
    A, T = (X - mean) * root, (targets - level) * root
    if len(A) < A.shape[1]:
        G = A @ A.T
        G[np.diag_indices(len(G))] += _LAMBDA * len(A)
        coef = A.T @ np.linalg.solve(G, T)
    else:
        G = A.T @ A
        G[np.diag_indices(len(G))] += _LAMBDA * len(A)
        coef = np.linalg.solve(G, A.T @ T)
    intercept = level - mean @ coef
    return WindowScorer(coef.T.reshape(n_classes + 1, CELLS + 2, -1), intercept, lengths)
