"""Arrays of NumPy or torch, inner products between feature vectors, and factorisations.

Factorisations call SciPy's LAPACK without holding the interpreter's lock. SciPy's own functions hold it, so threads would wait for each
other; the results are the same to the bit. Arrays are float64 in column order, as LAPACK expects (the transpose of a C array); only the
lower triangle of symmetric matrices is read.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from kerneton.exceptions import DataError
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
    """Refuse a torch tensor that is not a finite float32 or float64 table (n, d) with n ≥ ``least``."""
    torch = namespace_of(X)
    if X.ndim != 2 or len(X) < least or X.dtype not in (torch.float32, torch.float64):
        raise DataError(
            f"expected a float32 or float64 tensor of shape (n, d), got {X.dtype} of {tuple(X.shape)}"
        )
    # The sum is finite in nearly all cases; the second pass is rarely needed.
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
    """Weighted sums ``β X`` of feature vectors, computed in float64 and returned in the precision of X.

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
    """Inner products of each block of features, (n_blocks, n, n), on several threads.

    In the precision of the features, or in float64 if a block is so wide that float32 would lose digits.

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


def _routine(module: Any, name: str, n_arguments: int) -> Any:
    """A routine of `scipy.linalg.cython_lapack`; ctypes gives up the lock while it runs. All arguments are pointers."""
    api, capsule = ctypes.pythonapi, module.__pyx_capi__[name]
    label = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = pointer(("PyCapsule_GetPointer", api))(capsule, label(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


_potrf = _routine(cython_lapack, "dpotrf", 5)
_potrs = _routine(cython_lapack, "dpotrs", 8)
_posv = _routine(cython_lapack, "dposv", 8)
_potri = _routine(cython_lapack, "dpotri", 5)
_trsm = _routine(cython_blas, "dtrsm", 11)
_LOWER = b"L"


def factorise(A: np.ndarray) -> bool:
    """Overwrite the lower triangle of A with its Cholesky factor L, A = L Lᵀ; False if A is not positive definite.

    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]], order="F")
    >>> factorise(A), np.tril(A).tolist()
    (True, [[2.0, 0.0], [1.0, 2.0]])
    """
    n, info = _int(len(A)), ctypes.c_int()
    _potrf(_LOWER, n, _at(A), n, ctypes.byref(info))
    return info.value == 0


def solve_factorised(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b (n, k) from the factor of A.

    >>> solve_factorised(np.array([[2.0, 0.0], [1.0, 2.0]], order="F"), np.array([[4.0], [2.0]])).ravel().tolist()
    [1.0, 0.0]
    """
    x, n, info = np.array(b, dtype=np.float64, order="F"), _int(len(L)), ctypes.c_int()
    _potrs(_LOWER, n, _int(b.shape[1]), _at(L), n, _at(x), n, ctypes.byref(info))
    return x


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """A⁻¹ b (n, k), A overwritten; None if A is not positive definite.

    >>> solve(np.array([[4.0, 2.0], [2.0, 5.0]], order="F"), np.array([[4.0], [2.0]])).ravel().tolist()
    [1.0, 0.0]
    """
    x, n, info = np.array(b, dtype=np.float64, order="F"), _int(len(A)), ctypes.c_int()
    _posv(_LOWER, n, _int(b.shape[1]), _at(A), n, _at(x), n, ctypes.byref(info))
    return x if info.value == 0 else None


def invert_factorised(L: np.ndarray) -> None:
    """Overwrite the factor of A with the lower triangle of A⁻¹.

    >>> L = np.array([[2.0, 0.0], [1.0, 2.0]], order="F")
    >>> invert_factorised(L)
    >>> L.tolist()
    [[0.3125, 0.0], [-0.125, 0.25]]
    """
    n, info = _int(len(L)), ctypes.c_int()
    _potri(_LOWER, n, _at(L), n, ctypes.byref(info))


def divide_right(b: np.ndarray, L: np.ndarray) -> np.ndarray:
    """b L⁻ᵀ (k, n) for a lower triangular L.

    >>> divide_right(np.array([[2.0, 4.0]]), np.array([[2.0, 0.0], [0.0, 4.0]], order="F")).tolist()
    [[1.0, 1.0]]
    """
    x, (k, n) = np.array(b, dtype=np.float64, order="F"), map(_int, b.shape)
    one = ctypes.byref(ctypes.c_double(1.0))
    _trsm(b"R", _LOWER, b"T", b"N", k, n, one, _at(L), n, _at(x), k)
    return x


def _int(value: int) -> Any:
    return ctypes.byref(ctypes.c_int(value))


def _at(x: np.ndarray) -> int:
    if x.dtype != np.float64 or not x.flags.f_contiguous:
        raise TypeError(f"expected float64 in columns, got {x.dtype} of strides {x.strides}")
    return x.ctypes.data
