"""Powers of batches of symmetric matrices, computed by the core."""

from __future__ import annotations

import numpy as np

from kerneton import core
from kerneton.exceptions import CoreError

MIN_ORDER, MAX_ORDER = 4, 128  # outside of this range LAPACK is as fast

_gradient_room = core.function("kn_power_gradient_room", core.int32, result=core.int64)
_gradient = core.function(
    "kn_power_gradient",
    *(core.pointer, core.pointer, core.int64, core.int32, core.double),
    *(core.pointer, core.pointer, core.pointer),
)
_room = core.function("kn_psd_power_room", core.int32, core.int32, result=core.int64)
_power = core.function(
    "kn_psd_power",
    *(
        core.int32,
        core.pointer,
        core.int64,
        core.int32,
        core.double,
        core.pointer,
        core.pointer,
        core.pointer,
    ),
)


def psd_power(A: np.ndarray, power: float, out: np.ndarray) -> np.ndarray:
    """A^γ of a batch (B, n, n) in float32 or float64 into ``out``, contiguous and perhaps ``A``
    itself.

    Returns which matrices did not converge, (B,), in practice none; they are not changed.

    >>> A = np.tile(np.diag([1.0, 4.0, 9.0, 16.0]), (2, 1, 1))
    >>> bool(psd_power(A, 0.5, A).any()), A[1].diagonal().round(9).tolist()
    (False, [1.0, 2.0, 3.0, 4.0])
    """
    n_batch, n, _ = A.shape
    A, kind = np.ascontiguousarray(A), core.precision(A.dtype)
    failed = np.zeros(n_batch, np.bool_)
    memory = core.room(_room(kind, n))
    _power(
        kind, core.address(A), n_batch, n, power, memory, core.address(out), core.address(failed)
    )
    return failed


def power_gradient(A: np.ndarray, W: np.ndarray, power: float) -> np.ndarray:
    """∇f(A)/γ of ``f(A) = ⟨W, A^γ⟩`` for positive semi-definite matrices; both (..., d, d).

    >>> A, W = np.array([[5.0, 4.0], [4.0, 5.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    >>> round(float((power_gradient(A, W, 0.5) * A).sum()), 9)  # the first entry of the root
    2.0
    """
    A = np.ascontiguousarray(A, np.float64)
    W = np.ascontiguousarray(np.broadcast_to(W, A.shape), np.float64)
    n, out = A.shape[-1], np.empty(A.shape)
    n_batch = A.size // (n * n)
    failed = np.zeros(n_batch, np.bool_)
    given = core.address(A), core.address(W), n_batch, n, power, core.room(_gradient_room(n))
    _gradient(*given, core.address(out), core.address(failed))
    if failed.any():
        raise CoreError("eigenvalues of a sum of frames were not found")
    return out
