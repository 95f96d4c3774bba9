"""Power normalisation of batches of third-order tensors by their HOSVD, computed by the core."""

from __future__ import annotations

import math

import numpy as np

from kerneton import core

MIN_SIZE, MAX_SIZE = 16, 16384  # entries of a tensor; larger ones leave the caches

_room = core.function("kn_hosvd_power_room", *[core.int32] * 4, result=core.int64)
_power = core.function(
    "kn_hosvd_power",
    *(core.int32, core.pointer, core.int64, core.int32, core.int32, core.int32),
    *(core.double, core.double, core.int32, core.pointer, core.pointer, core.pointer),
)


def hosvd_power(
    X: np.ndarray, power: float, entry_power: float, max_sweeps: int = 40
) -> tuple[np.ndarray, np.ndarray]:
    """EPN of a batch (B, a, b, c) in float32 or float64, and which tensors did not converge, (B,),
    in practice none.

    >>> X = np.zeros((2, 4, 4, 4))
    >>> X[:, range(4), range(4), range(4)] = [16.0, 9.0, -4.0, 1.0]
    >>> found, failed = hosvd_power(X, 0.5, 1.0)
    >>> found[1, range(4), range(4), range(4)].round(9).tolist(), bool(failed.any())
    ([4.0, 3.0, -2.0, 1.0], False)
    """
    n_batch, *shape = X.shape
    assert MIN_SIZE <= math.prod(shape) <= MAX_SIZE
    X, kind = np.ascontiguousarray(X), core.precision(X.dtype)
    out, failed = np.empty_like(X), np.zeros(n_batch, np.bool_)
    memory = core.room(_room(kind, *shape))
    given = kind, core.address(X), n_batch, *shape, power, entry_power, max_sweeps, memory
    _power(*given, core.address(out), core.address(failed))
    return out, failed
