"""Gram matrices of blocks of features, and how well each block agrees with the labels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneton.machine.compiled import load
from kerneton.machine.gram import BLOCK_FEATURES, BLOCK_ROWS, add_gram
from kerneton.machine.threads import in_threads

_ROUNDING = 1e-13  # of a sum of squares: what is left of less is no variation
_QUIET = 0.01  # blocks that vary less than this part of the liveliest one (a centred root, say) say nothing


def block_grams(features: Any, block_sizes: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Inner products of each block of features, (n_blocks, n, n); blocks are shared between threads.

    In the precision of the features, or in float64 where a block is so wide that float32 would lose digits.

    >>> block_grams(np.array([[1.0, 2.0, 3.0]]), np.array([1, 2])).tolist()
    [[[1.0]], [[13.0]]]
    """
    narrow = max(block_sizes) <= BLOCK_FEATURES and len(features) <= BLOCK_ROWS
    out = np.empty((len(block_sizes), len(features), len(features)), features.dtype if narrow else float)
    ends = np.cumsum(block_sizes)

    def work(b: int) -> None:
        block = features[:, ends[b] - block_sizes[b] : ends[b]]
        if narrow:
            np.matmul(block, block.T, out=out[b])
        else:
            out[b] = 0.0
            add_gram(out[b], block)

    in_threads(work, range(len(block_sizes)), n_threads)
    return out


def weighted_sums(weights: np.ndarray, blocks: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Sums of blocks in float64, (n_sums, ...) from weights (n_sums, n_blocks) and blocks (n_blocks, ...).

    >>> weighted_sums(np.array([[1.0, 2.0]]), np.ones((2, 1, 3), dtype=np.float32)).tolist()
    [[[3.0, 3.0, 3.0]]]
    """
    flat = blocks.reshape(len(blocks), -1)
    out = np.zeros((len(weights), flat.shape[1]))
    compiled = load("kerneton.machine.compiled.grams")
    ends = np.linspace(0, flat.shape[1], n_threads + 1, dtype=int).tolist()

    def work(columns: tuple[int, int]) -> None:
        if compiled is not None:
            compiled.weighted_sums(weights, flat, *columns, out)
            return
        part = slice(*columns)
        for b in range(len(flat)):  # no copy of all blocks in float64
            out[:, part] += weights[:, b, None] * flat[b, part]

    in_threads(work, itertools.pairwise(ends), n_threads)
    return out.reshape(len(weights), *blocks.shape[1:])


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


def fold_weights(
    grams: np.ndarray, y: np.ndarray, trains: Sequence[np.ndarray], n_threads: int = 1
) -> np.ndarray:
    """The same for several training sides at once, (n_folds, n_blocks); ``trains`` are positions among the first n.

    Grams are (n_blocks, ≥ n, n), n the length of y. No fold's block is cut out: with m its training side as zeros and
    ones, ``n_f = Σ m``, ``r = K m`` and ``Σ`` over i and j of that side,

        ‖H K H‖² = Σ K_ij² - 2/n_f Σ r_i² + (Σ r_i)²/n_f²,   <H K H, H Y H> = Σ K_ij Y_ij - 2/n_f Σ r_i c_i + Σ r_i Σ c_i/n_f²

    where c_i is how many of that side have i's label.

    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> fold_weights(np.stack([K, np.eye(4)]), np.array([0, 0, 1, 1]), [np.arange(4), np.arange(1, 4)]).round(2).tolist()
    [[1.5, 0.5], [1.33, 0.67]]
    """
    codes = np.unique(y, return_inverse=True)[1]
    sides = np.zeros((len(trains), len(y)))
    for side, train in zip(sides, trains, strict=True):
        side[train] = 1
    sizes = sides.sum(axis=1)
    same = (codes[:, None] == codes[None, :]).astype(float)
    counts = sides * (sides @ same)  # (n_folds, n): c_i of the training side, zero elsewhere
    labels = _norm_squared(counts.sum(axis=1), (counts**2).sum(axis=1), counts.sum(axis=1), sizes)
    compiled = load("kerneton.machine.compiled.grams")
    sums = np.empty((len(grams), len(trains), 6))

    def work(b: int) -> None:
        if compiled is None:
            sums[b] = _alignment_sums(grams[b], same, sides, counts)
        else:
            compiled.alignment_sums(grams[b], codes, sides, counts, sums[b])

    in_threads(work, range(len(grams)), n_threads)
    totals, squared, counted, squares, inner, traces = sums.transpose(2, 1, 0)  # each (n_folds, n_blocks)
    sizes = sizes[:, None]
    inner = inner - 2 / sizes * counted + totals * counts.sum(axis=1, keepdims=True) / sizes**2
    norms = np.sqrt(_norm_squared(squares, squared, totals, sizes) * labels[:, None])
    alignment = np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0)
    traces = traces - totals / sizes
    loud = traces >= _QUIET * traces.max(axis=1, keepdims=True)
    weights = np.where(loud, np.maximum(alignment, 0) ** 2, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    # One label, or no variation: nothing to learn from.
    return np.divide(weights * weights.shape[1], total, out=np.ones_like(weights), where=total > 0)


def _alignment_sums(block: np.ndarray, same: np.ndarray, sides: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Σ r_i, Σ r_i², Σ r_i c_i, Σ K_ij², Σ K_ij Y_ij and Σ K_ii of each training side, (n_sides, 6)."""
    # A constant changes nothing, and what is left without it has no digits to lose.
    K = block[: len(same)].astype(np.float64)
    K -= K.mean()
    rows = sides * (sides @ K.T)
    pairs = [(sides * (sides @ part.T)).sum(axis=1) for part in (K * K, K * same)]
    return np.stack(
        [rows.sum(1), (rows * rows).sum(1), (rows * counts).sum(1), *pairs, sides @ K.diagonal()], 1
    )


def _norm_squared(squares: Any, squared: Any, totals: Any, sizes: Any) -> np.ndarray:
    """‖H K H‖² of each side from Σ K_ij², Σ r_i² and Σ r_i."""
    centred = squares - 2 / sizes * squared + (totals / sizes) ** 2
    return np.where(centred > _ROUNDING * squares, centred, 0.0)
