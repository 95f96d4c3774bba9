"""Newton's method of `kerneton.machine.solver` for the squared hinge on a Gram matrix, class after class, compiled by Numba.

Each step solves a system with some dozens of unknowns (the examples with a loss); in Python the calls would take longer than the systems.
The interpreter's lock is released, so that folds and candidates run on all threads.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba.extending import register_jitable

from kerneton.machine.compiled.cache import cached_jit, source_number

FEW = 160  # unknowns up to which this is faster than LAPACK
_jit = register_jitable(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})


@_jit
def _dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@_jit
def _kept(a, share, free):
    """Mark the examples with a loss, or the given share of them with the largest losses; returns their number."""
    n_free = 0
    for i in range(len(a)):
        n_free += a[i] > 0
    least = 0.0
    if share < 1 and n_free > 0:
        ranked = np.sort(a)
        least = ranked[len(a) - max(int(np.ceil(share * n_free)), 1)]
    kept = 0
    for i in range(len(a)):
        free[i] = a[i] > 0 and a[i] >= least
        kept += free[i]
    return kept


@_jit
def _factor(A):
    """Overwrite the upper triangle of A = RᵀR with R, four rows at a time; returns whether A is positive definite."""
    m = len(A)
    for p in range(0, m, 4):
        last = min(p + 4, m)
        for i in range(p, last):
            row = A[i]
            for k in range(p, i):
                above, x = A[k], A[k, i]
                for j in range(i, m):
                    row[j] -= x * above[j]
            if not row[i] > 0:
                return False
            inverse = 1 / np.sqrt(row[i])
            for j in range(i, m):
                row[j] *= inverse
        if last - p < 4:
            break
        r0, r1, r2, r3 = A[p], A[p + 1], A[p + 2], A[p + 3]
        for i in range(last, m):
            row, x0, x1, x2, x3 = A[i], r0[i], r1[i], r2[i], r3[i]
            for j in range(i, m):
                row[j] -= x0 * r0[j] + x1 * r1[j] + x2 * r2[j] + x3 * r3[j]
    return True


@_jit
def _solve_free(K, y, D, free, m, room, b):
    """(K_FF + D_F) b_F = y_F, zero elsewhere; whether the matrix is positive definite."""
    F = np.empty(m, np.int64)
    at = 0
    for i in range(len(y)):
        b[i] = 0.0
        if free[i]:
            F[at] = i
            at += 1
    A = room[: m * m].reshape(m, m)
    for p in range(m):
        source, row = K[F[p]], A[p]
        for q in range(p, m):
            row[q] = source[F[q]]
        row[p] += D[F[p]]
    if not _factor(A):
        return False
    x = y[F]
    for p in range(m):
        row = A[p]
        x[p] /= row[p]
        for q in range(p + 1, m):
            x[q] -= row[q] * x[p]
    for p in range(m - 1, -1, -1):
        x[p] = (x[p] - _dot(A[p, p + 1 :], x[p + 1 :])) / A[p, p]
    for p in range(m):
        b[F[p]] = x[p]
    return True


@_jit
def _decide(K, b, f):
    """f = b K, from the rows with b ≠ 0."""
    f[:] = 0.0
    for i in range(len(b)):
        if b[i] != 0:
            row, weight = K[i], b[i]
            for j in range(len(f)):
                f[j] += weight * row[j]


@_jit
def _cost(b, f, a, y, D):
    total = 0.5 * _dot(b, f)
    for i in range(len(a)):
        total += a[i] * (1 - y[i] * f[i] - 0.5 * D[i] * a[i])
    return total


@_jit
def _pay(f, y, D, a):
    for i in range(len(a)):
        a[i] = max((1 - y[i] * f[i]) / D[i], 0.0)


@_jit
def _line_search(b, f, new_b, new_f, y, D):
    """The exact minimiser between two points, t from 0 to 1."""
    start = growth = 0.0
    for i in range(len(b)):
        start += b[i] * (new_f[i] - f[i])
        growth += (new_b[i] - b[i]) * (new_f[i] - f[i])
    low, high, t = 0.0, 1.0, 0.5
    for _ in range(60):
        slope, curvature = start + t * growth, growth
        for i in range(len(b)):
            step = new_f[i] - f[i]
            a = (1 - y[i] * (f[i] + t * step)) / D[i]
            if a > 0:
                slope -= y[i] * step * a
                curvature += step * step / D[i]
        if slope < 0:
            low = t
        else:
            high = t
        newton = t - slope / curvature if curvature > 0 else t - slope
        if not low < newton < high:
            newton = 0.5 * (low + high)
        moved = abs(newton - t)
        t = newton
        if moved <= 1e-12:
            break
    return t


@_jit
def _one_class(K, y, D, norms, b, f, tol, n_iter, max_iter, shares, room):
    """Steps of one class from b and f = b K, in place; returns their number, and whether they converged.

    A system that is not positive definite ends it.
    """
    n = len(y)
    a, new_a, new_b, new_f = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    free = np.empty(n, np.bool_)
    while n_iter < max_iter:
        n_iter += 1
        share = shares[n_iter] if n_iter < len(shares) else 1.0
        _pay(f, y, D, a)
        m = _kept(a, share, free)
        if not _solve_free(K, y, D, free, m, room, new_b):
            return n_iter, False
        _decide(K, new_b, new_f)
        _pay(new_f, y, D, new_a)
        same = True
        for i in range(n):
            same &= free[i] == (new_a[i] > 0)
        cost, new_cost = _cost(b, f, a, y, D), _cost(new_b, new_f, new_a, y, D)
        worse = new_cost > cost + 1e-12 * abs(cost)
        t = _line_search(b, f, new_b, new_f, y, D) if worse else 1.0
        moved, noise = 0.0, 0.0
        for i in range(n):
            step = t * (new_f[i] - f[i])
            moved = max(moved, abs(step))
            b[i] += t * (new_b[i] - b[i])
            f[i] += step
            noise += abs(b[i]) * norms[i]
        at_rest = share == 1 and moved <= 2.0**-52 * noise * norms.max() + 1e-3 * tol
        if (same and not worse) or at_rest:
            return n_iter, True
    return n_iter, False


def _compile(sources):
    @cached_jit
    def newton(K, Y, D, coef, F, tol, n_iter, max_iter, shares, steps, converged):
        """Every class, from the rows of ``coef`` and ``F = coef K``, which are overwritten with the result."""
        if not sources:
            return
        norms, room = np.sqrt(np.diag(K)), np.empty(K.size)
        for c in range(len(Y)):
            steps[c], converged[c] = _one_class(
                K, Y[c], D[c], norms, coef[c], F[c], tol, n_iter, max_iter, shares, room
            )

    return newton


newton = _compile(source_number(Path(__file__).parent))
