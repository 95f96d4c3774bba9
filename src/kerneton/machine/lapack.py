"""Cholesky factorisations by SciPy's LAPACK, without holding the interpreter's lock.

SciPy's own functions hold it, so threads would wait for each other; the results are the same to the
bit. Arrays are float64 in column order, as LAPACK expects (the transpose of a C array); only the
lower triangle of symmetric matrices is read.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack


def _routine(module: Any, name: str, n_arguments: int) -> Any:
    """A routine of `scipy.linalg.cython_lapack`; ctypes gives up the lock while it runs. All
    arguments are pointers.
    """
    api, capsule = ctypes.pythonapi, module.__pyx_capi__[name]
    label = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = pointer(("PyCapsule_GetPointer", api))(capsule, label(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)


_potrf = _routine(cython_lapack, "dpotrf", 5)
_potrs = _routine(cython_lapack, "dpotrs", 8)
_posv = _routine(cython_lapack, "dposv", 8)
_trsm = _routine(cython_blas, "dtrsm", 11)
_LOWER = b"L"


def factorise(A: np.ndarray) -> bool:
    """Overwrite the lower triangle of A with its Cholesky factor L, A = L Lᵀ; False if A is not
    positive definite.

    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]], order="F")
    >>> factorise(A), np.tril(A).tolist()
    (True, [[2.0, 0.0], [1.0, 2.0]])
    """
    n, info = _int(len(A)), ctypes.c_int()
    _potrf(_LOWER, n, _at(A), n, ctypes.byref(info))
    return info.value == 0


def solve_factorised(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b (n, k) from the factor of A.

    >>> solve_factorised(
    ...     np.array([[2.0, 0.0], [1.0, 2.0]], order="F"), np.array([[4.0], [2.0]])
    ... ).ravel().tolist()
    [1.0, 0.0]
    """
    x, n, info = np.array(b, dtype=np.float64, order="F"), _int(len(L)), ctypes.c_int()
    _potrs(_LOWER, n, _int(b.shape[1]), _at(L), n, _at(x), n, ctypes.byref(info))
    return x


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """A⁻¹ b (n, k), A overwritten; None if A is not positive definite.

    >>> solve(
    ...     np.array([[4.0, 2.0], [2.0, 5.0]], order="F"), np.array([[4.0], [2.0]])
    ... ).ravel().tolist()
    [1.0, 0.0]
    """
    x, n, info = np.array(b, dtype=np.float64, order="F"), _int(len(A)), ctypes.c_int()
    _posv(_LOWER, n, _int(b.shape[1]), _at(A), n, _at(x), n, ctypes.byref(info))
    return x if info.value == 0 else None


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
