"""Passes over Gram matrices of blocks of features, computed by the core.

Each entry is read once, and no temporary array is as large as a block.
"""

from __future__ import annotations

import numpy as np

from kerneton import core
from kerneton.parallel.threads import in_threads, ranges

_alignment_room = core.function("kn_alignment_room", core.int64, core.int64, result=core.int64)
_alignment_sums = core.function(
    "kn_alignment_sums",
    *(core.int32, core.pointer, core.int64, core.int64, core.int64, core.int64, core.pointer),
    *(core.pointer, core.pointer, core.int64, core.pointer, core.pointer),
)
_weighted_sums = core.function(
    "kn_weighted_sums",
    *(
        core.int32,
        core.pointer,
        core.int64,
        core.pointer,
        core.int64,
        core.int64,
        core.int64,
        core.int64,
    ),
    core.pointer,
)
_center_room = core.function(
    "kn_center_normalize_room", core.int64, core.int64, core.int64, result=core.int64
)
_center_normalize = core.function(
    "kn_center_normalize",
    *(core.pointer, core.int64, core.pointer, core.int64, core.int64, core.int32, core.int32),
    *(core.pointer, core.pointer),
)


def alignment_sums(
    blocks: np.ndarray, codes: np.ndarray, sides: np.ndarray, counts: np.ndarray, n_threads: int = 1
) -> np.ndarray:
    """Sums over training sides of Gram matrices (n_blocks, ≥ n, n), each less its mean: (n_blocks,
    n_sides, 6).

    Σ r_i, Σ r_i², Σ r_i c_i, Σ K_ij², Σ K_ij [code_i = code_j] and Σ K_ii, with r_i the sum of row
    i over the side. ``codes`` (n,) are classes 0..k-1, ``sides`` (n_sides, n) zeros and ones,
    ``counts`` (n_sides, n) the c_i.

    >>> K, codes = np.array([[[3.0, 1.0], [1.0, 3.0]]]), np.array([0, 1])
    >>> alignment_sums(K, codes, np.ones((1, 2)), np.ones((1, 2))).tolist()
    [[[0.0, 0.0, 0.0, 4.0, 2.0, 2.0]]]
    """
    n_sides, n = sides.shape
    blocks, codes = np.ascontiguousarray(blocks), np.ascontiguousarray(codes, np.int64)
    sides, counts = (np.ascontiguousarray(part, np.float64) for part in (sides, counts))
    n_blocks, n_rows, n_columns = blocks.shape
    if not n_rows >= n == n_columns == len(codes) or counts.shape != sides.shape:
        raise ValueError(
            f"blocks {blocks.shape}, codes {codes.shape}, sides {sides.shape} do not fit"
        )
    if n and not 0 <= codes.min() <= codes.max() < n:
        raise ValueError(f"codes must be 0 to {n - 1}")
    kind, out = core.precision(blocks.dtype), np.empty((n_blocks, n_sides, 6))

    def work(part: tuple[int, int]) -> None:
        _alignment_sums(
            *(
                kind,
                core.address(blocks),
                n_rows * n,
                *part,
                n,
                core.address(codes),
                core.address(sides),
            ),
            *(
                core.address(counts),
                n_sides,
                core.room(_alignment_room(n, n_sides)),
                core.address(out),
            ),
        )

    in_threads(work, ranges(n_blocks, n_threads), n_threads)
    return out


def weighted_sums(weights: np.ndarray, blocks: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Sums of blocks in float64, (n_sums, ...) from weights (n_sums, n_blocks) and blocks
    (n_blocks, ...).

    >>> weighted_sums(np.array([[1.0, 2.0]]), np.ones((2, 1, 3), dtype=np.float32)).tolist()
    [[[3.0, 3.0, 3.0]]]
    """
    weights, blocks = np.ascontiguousarray(weights, np.float64), np.ascontiguousarray(blocks)
    n_sums, n_blocks = weights.shape
    if n_blocks != len(blocks):
        raise ValueError(f"{n_blocks} weights for {len(blocks)} blocks")
    out = np.empty((n_sums, *blocks.shape[1:]))
    kind, size = core.precision(blocks.dtype), int(np.prod(blocks.shape[1:]))

    def work(part: tuple[int, int]) -> None:
        _weighted_sums(
            *(kind, core.address(weights), n_sums, core.address(blocks), n_blocks, size, *part),
            core.address(out),
        )

    in_threads(work, ranges(size, n_threads), n_threads)
    return out


def center_normalize(
    K: np.ndarray, train: np.ndarray, others: np.ndarray, *, center: bool = True, norm: bool = True
) -> np.ndarray:
    """Inner products (n_train + n_others, n_train) of centred features of unit length, from those
    of K (n, n).

    ``(K_ij - r_i - r_j + g) s_i s_j`` with r_i the mean of row i over the positions ``train``, g
    the mean of these r, and s_i what makes the length one; features equal to the mean become zero.

    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    >>> center_normalize(X @ X.T, np.array([0, 1]), np.array([2])).tolist()
    [[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0]]
    """
    n, rows = len(K), np.concatenate([train, others]).astype(np.int64, copy=False)
    if (
        K.dtype != np.float64
        or K.shape != (n, n)
        or not len(rows)
        or rows.min() < 0
        or rows.max() >= n
    ):
        raise ValueError(
            f"expected a float64 matrix (n, n) and positions in it, got {K.dtype} {K.shape}"
        )
    K, out = np.ascontiguousarray(K), np.empty((len(rows), len(train)))
    _center_normalize(
        *(core.address(K), n, core.address(rows), len(rows), len(train), center, norm),
        *(core.room(_center_room(n, len(rows), len(train))), core.address(out)),
    )
    return out
