"""Power normalisation of a third-order tensor by its higher-order singular value decomposition."""

from __future__ import annotations

import numpy as np


def reference_hosvd_power(X: np.ndarray, power: float, entry_power: float = 1.0) -> np.ndarray:
    """One tensor (a, b, c) by the definition in float64, with random signs of the singular
    vectors.
    """
    rng = np.random.default_rng(0)
    X = np.asarray(X, np.float64)
    factors = []
    for mode in range(3):
        U = np.linalg.svd(np.moveaxis(X, mode, 0).reshape(X.shape[mode], -1))[0]
        factors.append(U * rng.choice([-1, 1], len(U)))
    core = np.einsum("ijk,ia,jb,kc->abc", X, *factors)
    floor = max(X.shape) * np.finfo(np.float64).eps * np.abs(core).max()
    core[np.abs(core) < floor] = 0  # the null space's rounding errors
    core = np.sign(core) * np.abs(core) ** power
    out = np.einsum("abc,ia,jb,kc->ijk", core, *factors)
    return np.sign(out) * np.abs(out) ** entry_power
