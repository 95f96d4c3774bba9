"""Which joints tell the labels apart: centred kernel alignment of each block of features with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneton.machine.gram import add_gram
from kerneton.machine.threads import one_blas_thread

_ROUNDING = 1e-13  # of a sum of squares: what is left of less is no variation
_QUIET = 0.01  # blocks that vary less than this part of the liveliest one (a centred root, say) say nothing


def block_grams(features: Any, block_sizes: np.ndarray) -> np.ndarray:
    """Inner products of each block of features, (n_blocks, n, n).

    >>> block_grams(np.array([[1.0, 2.0, 3.0]]), np.array([1, 2])).tolist()
    [[[1.0]], [[13.0]]]
    """
    out = np.zeros((len(block_sizes), len(features), len(features)))
    with one_blas_thread():
        for K, end, size in zip(out, np.cumsum(block_sizes), block_sizes, strict=True):
            add_gram(K, features[:, end - size : end])
    return out


def alignment_weights(grams: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weight of each block, (n_blocks,): the square of its alignment with the labels, mean 1.

    ::

        a_b = <H K_b H, H Y H> / (‖H K_b H‖ ‖H Y H‖),   w_b ∝ max(0, a_b)²,   Y_ij = [y_i = y_j],   H = I - 11ᵀ/n

    One pass, no optimiser.

    >>> useful, noise = np.kron(np.eye(2), np.ones((2, 2))), np.eye(4)
    >>> alignment_weights(np.stack([useful, noise]), np.array(["a", "a", "b", "b"])).round(2).tolist()
    [1.5, 0.5]
    """
    return fold_weights(grams, y, [np.arange(len(y))])[0]


def fold_weights(grams: np.ndarray, y: np.ndarray, trains: Sequence[np.ndarray]) -> np.ndarray:
    """The same for several training sides at once, (n_folds, n_blocks); ``trains`` are positions among the first n.

    Grams are (n_blocks, ≥ n, n), n the length of y. No fold's block is cut out: with m its training side as zeros and
    ones, ``n_f = Σ m``, ``r = K m`` and ``Σ`` over i and j of that side,

        ‖H K H‖² = Σ K_ij² - 2/n_f Σ r_i² + (Σ r_i)²/n_f²,   <H K H, H Y H> = Σ K_ij Y_ij - 2/n_f Σ r_i c_i + Σ r_i Σ c_i/n_f²

    where c_i is how many of that side have i's label.

    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> fold_weights(np.stack([K, np.eye(4)]), np.array([0, 0, 1, 1]), [np.arange(4), np.arange(1, 4)]).round(2).tolist()
    [[1.5, 0.5], [1.33, 0.67]]
    """
    n = len(y)
    sides = np.zeros((n, len(trains)))
    for side, train in zip(sides.T, trains, strict=True):
        side[train] = 1
    sizes = sides.sum(axis=0)
    same = (y[:, None] == y[None, :]).astype(float)
    counts = sides * (same @ sides)  # (n, n_folds): c_i of the training side, zero elsewhere
    labels = _norm_squared(counts.sum(axis=0), counts, sides, sizes)
    inner, squares, traces = (np.empty((len(trains), len(grams))) for _ in range(3))
    work = np.empty((n, n))
    with one_blas_thread():
        for b, block in enumerate(grams):
            # A constant changes nothing, and what is left without it has no digits to lose.
            K = block[:n] - block[:n].mean()
            rows = sides * (K @ sides)
            total = rows.sum(axis=0)
            np.multiply(K, same, out=work)
            inner[:, b] = (sides * (work @ sides)).sum(axis=0)
            inner[:, b] += total * counts.sum(axis=0) / sizes**2 - 2 / sizes * (rows * counts).sum(axis=0)
            np.multiply(K, K, out=work)
            squares[:, b] = _norm_squared((sides * (work @ sides)).sum(axis=0), rows, sides, sizes)
            traces[:, b] = K.diagonal() @ sides - total / sizes
    norms = np.sqrt(squares * labels[:, None])
    alignment = np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0)
    loud = traces >= _QUIET * traces.max(axis=1, keepdims=True)
    weights = np.where(loud, np.maximum(alignment, 0) ** 2, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    # One label, or no variation: nothing to learn from.
    return np.divide(weights * weights.shape[1], total, out=np.ones_like(weights), where=total > 0)


def _norm_squared(squares: np.ndarray, rows: np.ndarray, sides: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """‖H K H‖² of each side from Σ K_ij² and the sums of its rows, which are zero outside of it."""
    rows = rows * sides
    centred = squares - 2 / sizes * (rows * rows).sum(axis=0) + (rows.sum(axis=0) / sizes) ** 2
    return np.where(centred > _ROUNDING * squares, centred, 0.0)
