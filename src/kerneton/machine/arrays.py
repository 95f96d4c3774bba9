"""Arrays of NumPy or torch, and inner products between feature vectors."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.exceptions import DataError
from kerneton.machine import lapack
from kerneton.machine.compiled import load
from kerneton.machine.threads import in_threads, one_blas_thread

BLOCK_ROWS = 4096
BLOCK_FEATURES = 4096  # single-precision products are summed in double precision this many features at a time


def is_torch(x: Any) -> bool:
    """Whether x is a torch tensor; torch is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace_of(x: Any) -> Any:
    """The module whose functions work on x: numpy or torch."""
    return sys.modules["torch"] if is_torch(x) else np


def asarray_like(values: Any, like: Any) -> Any:
    """Values as an array of the same library, dtype and device as another.

    >>> asarray_like([1, 2], np.ones(3, dtype=np.float32)).dtype
    dtype('float32')
    """
    if is_torch(like):
        return sys.modules["torch"].as_tensor(np.asarray(values), dtype=like.dtype, device=like.device)
    return np.asarray(values, dtype=like.dtype)


def as_dtype_of(x: Any, like: Any) -> Any:
    """x in the dtype of another array of its library."""
    return x.to(like.dtype) if is_torch(x) else np.asarray(x, dtype=like.dtype)


def index_like(values: Any, like: Any) -> Any:
    """Integer positions as an array of the same library and device as another.

    >>> index_like([2, 0], np.ones(3)).dtype
    dtype('int64')
    """
    if is_torch(like):
        return sys.modules["torch"].as_tensor(np.asarray(values), device=like.device)
    return np.asarray(values, dtype=np.int64)


def to_numpy(x: Any) -> np.ndarray:
    """The same values in host memory."""
    return x.detach().cpu().numpy() if is_torch(x) else np.asarray(x)


def check_tensor(X: Any, least: int = 0) -> None:
    """Refuse a torch tensor that is no table of finite features (n, d) in float32 or float64, n ≥ ``least``."""
    torch = namespace_of(X)
    if X.ndim != 2 or len(X) < least or X.dtype not in (torch.float32, torch.float64):
        raise DataError(
            f"expected a float32 or float64 tensor of shape (n, d), got {X.dtype} of {tuple(X.shape)}"
        )
    # The sum is finite or a single pass tells why it is not.
    if not bool(torch.isfinite(X.sum())) and not bool(torch.isfinite(X).all()):
        raise DataError("features contain NaN or infinity")


def filled(shape: tuple[int, ...], value: float, *, like: Any) -> Any:
    """A float64 array of one value, of the same library and on the same device as another.

    >>> filled((1, 2), 0.5, like=np.ones(1, dtype=np.float32))
    array([[0.5, 0.5]])
    """
    if is_torch(like):
        torch = namespace_of(like)
        return torch.full(shape, value, dtype=torch.float64, device=like.device)
    return np.full(shape, value)


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
