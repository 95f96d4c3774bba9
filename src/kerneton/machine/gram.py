"""Inner products between feature vectors: centring, unit norms and weights of blocks, computed from them alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.data.arrays import index_like, is_torch, namespace_of
from kerneton.machine import lapack
from kerneton.machine.compiled import load
from kerneton.machine.threads import one_blas_thread

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
    compiled = None if is_torch(K) or K.dtype != np.float64 else load("kerneton.machine.compiled.grams")
    blocks = [_take(K, i, train) for i in rows] if compiled is None else []
    squares, means, grand = list(raw), [xp.zeros_like(r) for r in raw], 0.0
    if center:
        if compiled is None:
            means = [B.mean(1) for B in blocks]
        else:
            for i, mean in zip(rows, means, strict=True):
                compiled.row_means(K, i, train, mean)
        grand = means[0].mean()
        squares = [s - 2 * m + grand for s, m in zip(raw, means, strict=True)]
    scales = [xp.ones_like(s) for s in squares]
    if norm:
        # Below this a centred square is what rounding left of K and g, not a length.
        noise = [1e-13 * (abs(r) + abs(grand)) for r in raw]
        scales = [
            xp.where(s > e, 1.0 / xp.sqrt(xp.where(s > e, s, xp.ones_like(s))), xp.zeros_like(s))
            for s, e in zip(squares, noise, strict=True)
        ]
    if compiled is None:
        parts = zip(blocks, means, scales, strict=True)
        blocks = [(B - (m[:, None] - grand) - means[0]) * k[:, None] * scales[0] for B, m, k in parts]
    else:
        for i, m, k in zip(rows, means, scales, strict=True):
            blocks.append(np.empty((len(i), len(train))))
            compiled.centred(K, i, train, means[0], scales[0], m - grand, k, blocks[-1])
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
        factor = scatter.T
        lapack.factorise(factor)
        half = lapack.divide_right(inside.T, factor)  # K A P½
        new = K - half @ half.T  # K - K A P A K
    scale = trace / float(np.trace(new))

    def duals(beta: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            solved = lapack.solve_factorised(factor, inside @ beta.T)
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
