"""Passes over Gram matrices of blocks, compiled by Numba: each entry is read once, and no temporary array is as large as a block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba.extending import register_jitable

from kerneton.machine.compiled.cache import cached_jit, source_number

_TILE = 512  # entries of a sum that fit into the L1 cache
_jit = register_jitable(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@_jit
def _mean(block, n):
    total = 0.0
    for i in range(n):
        row, part = block[i], 0.0
        for j in range(n):
            part += row[j]
        total += part / n
    return total / n


@_jit
def _inside(x, alike, side):
    """Σ x, Σ x² and Σ alike over one training side."""
    total = square = inner = 0.0
    for j in range(len(x)):
        here = x[j] * side[j]
        total += here
        square += here * x[j]
        inner += alike[j] * side[j]
    return total, square, inner


@_jit
def _mean_of(row, columns):
    total = 0.0
    for j in range(len(columns)):
        total += row[columns[j]]
    return total / len(columns)


def _compile(sources):
    @cached_jit
    def alignment_sums(block, codes, sides, counts, out):
        """Sums that `kerneton.machine.scaling.fold_weights` needs of a block (≥ n, n), per training side, into ``out`` (n_sides, 6).

        Σ r_i, Σ r_i², Σ r_i c_i, Σ K_ij², Σ K_ij Y_ij and Σ K_ii, K less its mean; ``sides`` and ``counts`` are (n_sides, n).
        """
        if not sources:
            return
        n = len(codes)
        mean = _mean(block, n)
        x, alike = np.empty(n), np.empty(n)
        out[:] = 0.0
        for i in range(n):
            row, code = block[i], codes[i]
            for j in range(n):
                x[j] = row[j] - mean
                alike[j] = x[j] if codes[j] == code else 0.0
            for f in range(len(sides)):
                if sides[f, i] > 0:
                    total, square, inner = _inside(x, alike, sides[f])
                    out[f, 0] += total
                    out[f, 1] += total * total
                    out[f, 2] += total * counts[f, i]
                    out[f, 3] += square
                    out[f, 4] += inner
                    out[f, 5] += x[i]

    @cached_jit
    def weighted_sums(weights, blocks, first, last, out):
        """``out = weights blocks`` in float64, (n_sums, size) from (n_sums, n_blocks) and (n_blocks, size), some columns of it."""
        if not sources:
            return
        for start in range(first, last, _TILE):
            end = min(start + _TILE, last)
            for f in range(len(weights)):
                target = out[f, start:end]
                target[:] = 0.0
            for b in range(len(blocks)):
                source = blocks[b, start:end]
                for f in range(len(weights)):
                    target, w = out[f, start:end], weights[f, b]
                    for j in range(end - start):
                        target[j] += w * source[j]

    @cached_jit
    def row_means(K, rows, train, out):
        """Mean of each row over the columns of the training side."""
        if not sources:
            return
        for i in range(len(rows)):
            out[i] = _mean_of(K[rows[i]], train)

    @cached_jit
    def centred(K, rows, train, means, scales, row_means, row_scales, out):
        """(K_ij - r_i - r_j) s_i s_j of some rows and the columns of the training side; g is included in one of the r."""
        if not sources:
            return
        for i in range(len(rows)):
            source, target, shift, scale = K[rows[i]], out[i], row_means[i], row_scales[i]
            for j in range(len(train)):
                target[j] = (source[train[j]] - shift - means[j]) * scale * scales[j]

    return alignment_sums, weighted_sums, centred, row_means


alignment_sums, weighted_sums, centred, row_means = _compile(source_number(Path(__file__).parent))
