"""Inner products between feature vectors: centring, unit norms and weights of blocks, computed from them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs

from kerneton.data.arrays import index_like, is_torch, namespace_of
from kerneton.machine.threads import in_threads, one_blas_thread

BLOCK_ROWS = 4096
BLOCK_FEATURES = 4096  # single-precision products are summed in double precision this many features at a time


def gram(X: Any, Y: Any = None) -> Any:
    """Inner products ``X Yᵀ`` in float64, ``X Xᵀ`` without Y; X and Y keep their precision and are not copied.

    >>> gram(np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    array([[ 5., 11.],
           [11., 25.]])
    """
    out = filled((len(X), len(X if Y is None else Y)), 0.0, like=X)
    with one_blas_thread():
        add_gram(out, X, Y)
    return out


def add_gram(out: Any, X: Any, Y: Any = None) -> None:
    """``out += X Yᵀ``, or ``X Xᵀ`` without Y, for a float64 array ``out``.

    >>> out = np.ones((2, 2))
    >>> add_gram(out, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> out.tolist()
    [[6.0, 12.0], [12.0, 26.0]]
    """
    for i in range(0, out.shape[0], BLOCK_ROWS):
        for j in range(0 if Y is not None else i, out.shape[1], BLOCK_ROWS):
            A, B = X[i : i + BLOCK_ROWS], (X if Y is None else Y)[j : j + BLOCK_ROWS]
            block = out[i : i + BLOCK_ROWS, j : j + BLOCK_ROWS]
            mirrored = out[j : j + BLOCK_ROWS, i : i + BLOCK_ROWS].T if Y is None and j > i else None
            for k in range(0, X.shape[1], BLOCK_FEATURES):
                product = A[:, k : k + BLOCK_FEATURES] @ B[:, k : k + BLOCK_FEATURES].T
                block += product
                if mirrored is not None:
                    mirrored += product


def combine(beta: Any, X: Any) -> Any:
    """Weighted sums ``β X`` of feature vectors, taken in float64 and returned in the precision of X.

    >>> combine(np.array([[1.0, -1.0]]), np.array([[1.0, 2.0], [3.0, 5.0]]))
    array([[-2., -3.]])
    """
    xp = namespace_of(X)
    width = max(1, 2**21 // max(1, len(X)))
    parts = []
    for k in range(0, X.shape[1], width):
        block = X[:, k : k + width]
        if is_torch(X):
            parts.append((beta @ block.double()).to(X.dtype))
        else:
            parts.append((beta @ block.astype(np.float64)).astype(X.dtype))
    return xp.concatenate(parts, 1)


def center_normalize_gram(
    K: Any, train: Any, test: Any = None, *, center: bool = True, norm: bool = True
) -> tuple[Any, Any]:
    """Gram blocks (train, train) and (test, train) of features centred on the training mean and scaled to unit norm.

    With ``r_i = mean_{t ∈ train} K_it`` and ``g = mean_{t ∈ train} r_t``, the centred entry is
    ``K_ij - r_i - r_j + g``; the norms are the square roots of the centred diagonal. Features that are the mean
    itself stay zero. The same as `kerneton.CenterNormalize` and then `gram`, without touching a feature.

    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    >>> center_normalize_gram(X @ X.T, train=[0, 1], test=[2])
    (array([[ 1., -1.],
           [-1.,  1.]]), array([[-1.,  1.]]))
    """
    xp = namespace_of(K)
    train = index_like(train, K)
    rows = [train] if test is None else [train, index_like(test, K)]
    raw = [K.diagonal()[i] for i in rows]
    blocks = [_take(K, i, train) for i in rows]
    squares = list(raw)
    if center:
        means = [B.mean(1) for B in blocks]
        grand = means[0].mean()
        blocks = [B - (m[:, None] - grand) - means[0] for B, m in zip(blocks, means, strict=True)]
        squares = [s - 2 * m + grand for s, m in zip(raw, means, strict=True)]
    if norm:
        # Below this a centred square is what rounding left of K and g, not a length.
        noise = [1e-13 * (abs(r) + (abs(grand) if center else 0.0)) for r in raw]
        scales = [
            xp.where(s > e, 1.0 / xp.sqrt(xp.where(s > e, s, xp.ones_like(s))), xp.zeros_like(s))
            for s, e in zip(squares, noise, strict=True)
        ]
        blocks = [B * k[:, None] * scales[0] for B, k in zip(blocks, scales, strict=True)]
    return blocks[0], blocks[1] if test is not None else None


def penalised_gram(
    K: np.ndarray, codes: np.ndarray, strength: float
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Gram matrix (n, n) in which directions in which recordings of one class differ cost more, and the way back.

    With the scatter within classes ``S = Σ_i (x_i - μ_{y_i})(x_i - μ_{y_i})ᵀ`` of n recordings and ``t = tr S / n``, a
    linear machine that pays ``wᵀ(I + strength S / t)w`` instead of ``wᵀw`` is an ordinary one with the inner products
    ``xᵀ(I + strength S / t)⁻¹z``. From ``K`` alone, A taking away class means,

        K' = c (K - K A P A K),   P = (A K A + t / strength I)⁻¹

    c ≥ 1 makes the mean of the new diagonal that of the old one, so that C keeps its meaning: what is paid in all is
    ``wᵀ(I + strength S / t)w / c``. Duals β (k, n) of the new problem
    are ``c (β - β K A P A)`` in the old one, which the second answer gives: prediction costs nothing more.

    >>> X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])  # the second feature is noise
    >>> new, duals = penalised_gram(X @ X.T, np.array([0, 0, 1, 1]), 3.0)
    >>> new.round(1)
    array([[ 2. ,  1.7, -1.7, -2. ],
           [ 1.7,  2. , -2. , -1.7],
           [-1.7, -2. ,  2. ,  1.7],
           [-2. , -1.7,  1.7,  2. ]])
    >>> (duals(np.eye(4)) @ X @ X.T).round(1)[0].tolist()
    [2.0, 1.7, -1.7, -2.0]
    """
    n = len(K)
    trace = float(np.trace(K))
    order, starts, sizes = _classes(codes)
    inside = _less_class_means(K, order, starts, sizes)  # A K
    scatter = _less_class_means(inside.T, order, starts, sizes)  # A K A
    size = float(np.trace(scatter)) / n
    if strength == 0 or size <= 1e-12 * trace / n:  # or no class has two recordings that differ
        return K, lambda beta: beta
    scatter.reshape(-1)[:: n + 1] += size / strength
    with one_blas_thread():
        # These matrices are symmetric: their transposes are in LAPACK's order, and so is that of A K.
        factor, _ = dpotrf(scatter.T, lower=True, overwrite_a=True)
        half = dtrsm(1.0, factor, inside.T, side=1, lower=True, trans_a=True)  # K A P½
        taken = dsyrk(1.0, half, lower=True)  # lower triangle of K A P A K
    taken = np.tril(taken) + np.tril(taken, -1).T
    new = K - taken
    scale = trace / float(np.trace(new))

    def duals(beta: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            solved, _ = dpotrs(factor, inside @ beta.T, lower=True)
        return scale * (beta - _less_class_means(solved, order, starts, sizes).T)

    return scale * new, duals


def scatter_penalty(K: np.ndarray, codes: np.ndarray, strength: float) -> np.ndarray:
    """M (n, n) such that the Gram matrix of `penalised_gram` is ``K M``, and duals β (k, n) of it are ``β Mᵀ`` in the old one.

    >>> K = np.array([[2.0, 0.0], [0.0, 2.0]])
    >>> scatter_penalty(K, np.array([0, 1]), 3.0)  # a recording each: nothing differs within a class
    array([[1., 0.],
           [0., 1.]])
    """
    return penalised_gram(K, codes, strength)[1](np.eye(len(K))).T


def _classes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions sorted by class, where each class starts among them, and its size."""
    order = np.argsort(codes, kind="stable")
    _, starts, sizes = np.unique(codes[order], return_index=True, return_counts=True)
    return order, starts, sizes


def _less_class_means(X: np.ndarray, order: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A X: rows less the mean row of their class."""
    means = np.add.reduceat(X.take(order, axis=0), starts, axis=0) / sizes[:, None]
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.repeat(np.arange(len(sizes)), sizes)
    return X - means.take(of_row, axis=0)


def _take(K: Any, rows: Any, columns: Any) -> Any:
    return K[rows][:, columns] if is_torch(K) else K.take(rows, 0).take(columns, 1)


def filled(shape: tuple[int, ...], value: float, *, like: Any) -> Any:
    """A float64 array of one value, of the same library and on the same device as another.

    >>> filled((1, 2), 0.5, like=np.ones(1, dtype=np.float32))
    array([[0.5, 0.5]])
    """
    if is_torch(like):
        torch = namespace_of(like)
        return torch.full(shape, value, dtype=torch.float64, device=like.device)
    return np.full(shape, value)


_ROUNDING = 1e-13  # of a sum of squares: what is left of less is no variation
_QUIET = 0.01  # blocks that vary less than this part of the liveliest one (a centred root, say) say nothing


def block_grams(features: Any, block_sizes: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Inner products of each block of features, (n_blocks, n, n); blocks are shared between threads.

    >>> block_grams(np.array([[1.0, 2.0, 3.0]]), np.array([1, 2])).tolist()
    [[[1.0]], [[13.0]]]
    """
    out = np.zeros((len(block_sizes), len(features), len(features)))
    ends = np.cumsum(block_sizes)

    def work(b: int) -> None:
        add_gram(out[b], features[:, ends[b] - block_sizes[b] : ends[b]])

    in_threads(work, range(len(block_sizes)), n_threads)
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
