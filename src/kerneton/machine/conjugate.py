"""Conjugate gradients for many systems at a time, so that one pass over the recordings serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.machine.arrays import to_numpy


def conjugate_gradients(
    system: Callable[[Any, np.ndarray], Any],
    rhs: Any,
    rtol: Any,
    moved: Callable[[np.ndarray, Any], None] | None = None,
    most: int = 500,
    precondition: Callable[[Any], Any] | None = None,
) -> tuple[Any, Any]:
    """Solve one system ``A x = b`` per row, all unfinished ones with one product; returns x and ``bᵀx`` per row.

    ``system(V, rows)`` multiplies some rows, ``moved(rows, lengths)`` is called with the step lengths along the last directions given to
    ``system``. A row ends when its residual is ``rtol`` times the first one, all end after ``most`` products. ``precondition`` multiplies
    residuals with an approximate inverse of A; residuals are then measured in its norm.

    >>> x, gain = conjugate_gradients(lambda V, rows: 2 * V, np.array([[2.0, 4.0]]), 1e-6)
    >>> x.tolist(), gain.tolist()
    ([[1.0, 2.0]], [10.0])
    """
    precondition = precondition or (lambda V: V)
    x, r = rhs * 0.0, rhs + 0.0
    rows = np.arange(len(rhs))
    p = precondition(r) + 0.0
    rz = (r * p).sum(1)
    goal, gain = rtol**2 * rz, rz * 0.0
    for _ in range(most):
        going = to_numpy(rz[rows] > goal[rows])
        rows, p = rows[going], p[going]
        if not len(rows):
            break
        q = system(p, rows)
        length = rz[rows] / (p * q).sum(1)
        gain[rows] += length * rz[rows]
        x[rows] += length[:, None] * p
        r[rows] -= length[:, None] * q
        if moved is not None:
            moved(rows, length[:, None])
        z = precondition(r[rows])
        new = (r[rows] * z).sum(1)
        p = z + (new / rz[rows])[:, None] * p
        rz[rows] = new
    return x, gain
