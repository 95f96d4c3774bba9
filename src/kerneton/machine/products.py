"""Inner products between feature vectors, and weighted sums of them, summed in double precision."""

from __future__ import annotations

import numpy as np

from kerneton.parallel.threads import in_threads, one_blas_thread

BLOCK_ROWS = 4096
# single-precision products are summed in double precision this many features at a time
BLOCK_FEATURES = 4096
_SUM_ENTRIES = 2**21  # of the float64 copy of features that are summed


def gram(X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
    """Inner products ``X Yᵀ`` in float64, ``X Xᵀ`` without Y; X and Y keep their precision and are
    not copied.

    >>> gram(np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    array([[ 5., 11.],
           [11., 25.]])
    """
    out = np.zeros((len(X), len(X if Y is None else Y)))
    with one_blas_thread():
        add_gram(out, X, Y)
    return out


def add_gram(
    out: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray | None = None,
    *,
    block_rows: int = BLOCK_ROWS,
    block_features: int = BLOCK_FEATURES,
) -> None:
    """``out += X Yᵀ``, or ``X Xᵀ`` without Y, for a float64 array ``out``; in blocks, to save
    memory and digits.

    >>> out = np.ones((2, 2))
    >>> add_gram(out, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> out.tolist()
    [[6.0, 12.0], [12.0, 26.0]]
    """
    for i in range(0, out.shape[0], block_rows):
        for j in range(0 if Y is not None else i, out.shape[1], block_rows):
            A, B = X[i : i + block_rows], (X if Y is None else Y)[j : j + block_rows]
            block = out[i : i + block_rows, j : j + block_rows]
            mirrored = (
                out[j : j + block_rows, i : i + block_rows].T if Y is None and j > i else None
            )
            for k in range(0, X.shape[1], block_features):
                product = A[:, k : k + block_features] @ B[:, k : k + block_features].T
                block += product
                if mirrored is not None:
                    mirrored += product


def combine(beta: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Weighted sums ``β X`` of feature vectors, computed in float64 and returned in the precision
    of X.

    >>> combine(np.array([[1.0, -1.0]]), np.array([[1.0, 2.0], [3.0, 5.0]]))
    array([[-2., -3.]])
    """
    width = max(1, _SUM_ENTRIES // max(1, len(X)))
    starts = range(0, X.shape[1], width)
    parts = [(beta @ X[:, k : k + width].astype(np.float64)).astype(X.dtype) for k in starts]
    return np.concatenate(parts, axis=1)


def block_grams(features: np.ndarray, block_sizes: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Inner products of each block of features, (n_blocks, n, n), on several threads.

    In the precision of the features, or in float64 if a block is so wide that float32 would lose
    digits.

    >>> block_grams(np.array([[1.0, 2.0, 3.0]]), np.array([1, 2])).tolist()
    [[[1.0]], [[13.0]]]
    """
    narrow = max(block_sizes) <= BLOCK_FEATURES and len(features) <= BLOCK_ROWS
    out = np.empty(
        (len(block_sizes), len(features), len(features)), features.dtype if narrow else float
    )
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
