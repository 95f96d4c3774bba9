"""Newton's method for linear support vector machines on a Gram matrix, computed by the core."""

from __future__ import annotations

import numpy as np

from kerneton import core

_room = core.function("kn_newton_room", core.int64, result=core.int64)
_newton = core.function(
    "kn_newton",
    *(core.pointer, core.int64, core.pointer, core.pointer, core.int64, core.double, core.int64),
    *(core.int64, core.pointer, core.int64, core.pointer, core.pointer, core.pointer, core.pointer),
    core.pointer,
)


def newton(
    K: np.ndarray,
    Y: np.ndarray,
    C: np.ndarray,
    coef: np.ndarray,
    F: np.ndarray,
    *,
    tol: float,
    n_iter: int,
    max_iter: int,
    shares: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ``½ βKβ + ½ Σ_i c_i max(0, 1 - y_i f_i)²`` with ``f = βK`` for every class (row).

    ``coef`` and ``F = coef K`` (n_classes, n) are the start and are overwritten with β and f; Y are
    signs, C the factors c ≥ 0. ``n_iter`` steps were done before; step s uses the share
    ``shares[s]`` of the examples with a loss. Returns the steps of every class, and whether it
    converged; a class with a singular system does not.

    >>> coef, F, ones = np.zeros((1, 2)), np.zeros((1, 2)), np.ones(2)
    >>> options = {"tol": 1e-6, "n_iter": 0, "max_iter": 9, "shares": ones}
    >>> newton(4 * np.eye(2), np.array([[1.0, -1.0]]), np.ones((1, 2)), coef, F, **options)
    (array([1]), array([ True]))
    >>> coef.round(9).tolist()
    [[0.2, -0.2]]
    """
    n_classes, n = Y.shape
    K, Y, C, shares = (np.ascontiguousarray(part, np.float64) for part in (K, Y, C, shares))
    if K.shape != (n, n) or not C.shape == Y.shape == coef.shape == F.shape:
        raise ValueError(
            f"shapes {K.shape}, {Y.shape}, {C.shape}, {coef.shape}, {F.shape} do not fit"
        )
    if not coef.dtype == F.dtype == np.float64:
        raise ValueError(f"expected float64, got {coef.dtype} and {F.dtype}")
    steps, converged = np.empty(n_classes, np.int64), np.empty(n_classes, np.bool_)
    _newton(
        *(core.address(K), n, core.address(Y), core.address(C), n_classes, tol, n_iter, max_iter),
        *(
            core.address(shares),
            len(shares),
            core.room(_room(n)),
            core.address(coef),
            core.address(F),
        ),
        *(core.address(steps), core.address(converged)),
    )
    return steps, converged
