"""Weights of a linear SVM as combinations of the examples, given by their Gram matrix; `kerneton.machine.primal_space` uses features.

Both spaces give `kerneton.machine.solver` the same five things: a start, the squared norms of the examples, decision values, inner products
and the end of a Newton step. Arrays have one row per class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneton.machine.arrays import (
    divide_right,
    factorise,
    filled,
    invert_factorised,
    is_torch,
    namespace_of,
    solve,
    solve_factorised,
    to_numpy,
)
from kerneton.machine.threads import one_blas_thread

DIRECT_GRAM = 3000  # free examples up to which a Cholesky factorisation is used, conjugate gradients above
EPS = 2.0**-52
BATCH_ENTRIES = 2**27  # entries of one batch of systems on a device


class GramSpace:
    """Weights as combinations of the examples, ``w = Σ_j β_j z_j``; only β is needed, ``f = βK``."""

    def __init__(self, K: Any) -> None:
        self.K = self.like = K
        self.inverse: Any = None
        self.drops_examples = not is_torch(K)  # one factorisation per class, so small systems matter
        self._kept: tuple[float, np.ndarray] | None = None

    def start(self, n_classes: int) -> Any:
        return filled((n_classes, len(self.K)), 0.0, like=self.K)

    def squares(self) -> Any:
        return self.K.diagonal()

    def decision(self, coef: Any) -> Any:
        return coef @ self.K

    def inner(self, p: Any, q: Any) -> Any:
        return (p.coef * q.f).sum(1)

    def noise(self, p: Any) -> Any:
        """An upper bound of rounding errors in the decision values."""
        norms = self.K.diagonal() ** 0.5
        return EPS * (abs(p.coef) * norms).sum(1) * float(norms.max())

    def newton_point(self, _rows: np.ndarray, c: Any, loss: Any, a: Any, free: Any) -> tuple[Any, bool]:
        """Bounds outside the free set F, ``(K_FF + D) β_F = y s - K_FB β_B`` inside it."""
        xp = namespace_of(c)
        zero, D = xp.zeros_like(a), loss.D
        fixed = xp.where(free, zero, loss.y * a)
        rhs = loss.y * loss.s
        if bool((fixed != 0).any()):
            rhs = rhs - fixed @ self.K
        n_free = to_numpy(free.sum(1))
        if n_free.max() > DIRECT_GRAM:

            def system(b: Any) -> Any:
                return xp.where(free, D * b + b @ self.K, zero)

            start = xp.where(free, c, zero)
            b = conjugate_gradients(system, xp.where(free, rhs, zero), start, D + self.K.diagonal(), 1e-10)
            return b + fixed, False
        if is_torch(c):
            return _solve_free_torch(self.K, rhs, D, free, n_free) + fixed, True
        if self._few_bound(D, n_free):
            return _solve_bound(self._inverse(float(D[0, 0])), rhs, free) + fixed, True
        return _solve_free(self.K, rhs, D, free) + fixed, True

    def _few_bound(self, D: np.ndarray, n_free: np.ndarray) -> bool:
        """Whether the systems of the examples at their bounds are much smaller, and safe to use."""
        n_bound = len(self.K) - n_free
        if not 0 < 1.5 * n_bound.mean() < n_free.mean() or len(n_free) < 4:
            return False
        return D.min() == D.max() > 1e-5 * self.K.diagonal().mean()

    def _inverse(self, shift: float) -> np.ndarray:
        """(K + shift)⁻¹, kept until another shift is asked for."""
        if self._kept is None or self._kept[0] != shift:
            A = self.K.copy()
            A.reshape(-1)[:: len(A) + 1] += shift
            self._kept = shift, _invert_positive(A)
        return self._kept[1]


def _solve_bound(P: np.ndarray, rhs: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The same from ``P = (K + D)⁻¹`` and the examples at their bounds, B: ``β = P (rhs + μ)``, μ on B such that β_B = 0.

    ``P_BB μ_B = -(P rhs)_B``: with few examples at a bound, as for small C, these systems are smaller.
    """
    start = rhs @ P
    mu = np.zeros_like(rhs)
    for row, B in enumerate(np.flatnonzero(bound) for bound in ~free):
        if len(B):
            mu[row, B] = solve_positive(P.take(B, 0).take(B, 1), -start[row, B, None])[:, 0]
    return np.where(free, start + mu @ P, 0.0)


def _solve_free(K: np.ndarray, rhs: np.ndarray, D: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Solve each class's system; if all have the same free set, as in the first step, they share a factorisation."""
    out = np.zeros_like(rhs)
    together = bool((free == free[0]).all() and (D[0] == D).all())
    for rows in [slice(None)] if together else [slice(row, row + 1) for row in range(len(rhs))]:
        F = np.flatnonzero(free[rows][0])
        if len(F):
            A = K.take(F[:, None] * len(K) + F) if len(F) < len(K) else K.copy()
            A.reshape(-1)[:: len(F) + 1] += D[rows][0, F]
            out[rows, F] = solve_positive(A, rhs[rows, F].T).T
    return out


def _solve_free_torch(K: Any, rhs: Any, D: Any, free: Any, n_free: np.ndarray) -> Any:
    """The same in batches: each class's free examples come first, the rest of its system is the identity."""
    torch = namespace_of(K)
    out = torch.zeros_like(rhs)
    m = int(n_free.max())
    if m == 0:
        return out
    at_once = max(1, BATCH_ENTRIES // (m * m))
    for i in range(0, len(rhs), at_once):
        part = slice(i, i + at_once)
        index = torch.argsort(free[part].to(torch.int8), dim=1, descending=True, stable=True)[:, :m]
        inside = torch.gather(free[part], 1, index)
        A = K[index[:, :, None], index[:, None, :]] * (inside[:, :, None] & inside[:, None, :])
        diagonal = torch.where(inside, torch.gather(D[part], 1, index), torch.ones_like(index, dtype=K.dtype))
        A = A + torch.diag_embed(diagonal)
        b = torch.where(inside, torch.gather(rhs[part], 1, index), torch.zeros_like(diagonal))
        factor, info = torch.linalg.cholesky_ex(A)
        if bool((info != 0).any()):
            x = torch.linalg.lstsq(A, b[:, :, None]).solution
        else:
            x = torch.cholesky_solve(b[:, :, None], factor)
        out[part] = out[part].scatter(1, index, x[:, :, 0])
    return out


def penalised_gram(
    K: np.ndarray, codes: np.ndarray, strength: float
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Gram matrix (n, n) with a penalty on directions in which recordings of one class differ, and a function for the duals.

    With the scatter within classes ``S = Σ_i (x_i - μ_{y_i})(x_i - μ_{y_i})ᵀ`` of n recordings and ``t = tr S / n``, a linear classifier
    with the regulariser ``wᵀ(I + strength S / t)w`` instead of ``wᵀw`` is an ordinary one with the inner products ``xᵀ(I + strength S /
    t)⁻¹z``. From ``K`` alone, with A subtracting class means,

        K' = c (K - K A P A K),   P = (A K A + t / strength I)⁻¹

    c ≥ 1 makes the mean of the new diagonal equal to that of the old one, so that C keeps its meaning; the regulariser is ``wᵀ(I + strength
    S / t)w / c``. Duals β (k, n) of the new problem are ``c (β - β K A P A)`` in the old one; the second result computes them. Prediction
    costs nothing more.

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
        # The matrices are symmetric, so their transposes, and that of A K, are in LAPACK's order.
        factor = scatter.T
        factorise(factor)
        half = divide_right(inside.T, factor)  # K A P½
        new = K - half @ half.T  # K - K A P A K
    scale = trace / float(np.trace(new))

    def duals(beta: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            solved = solve_factorised(factor, inside @ beta.T)
        return scale * (beta - _less_class_means(solved, order, starts, sizes).T)

    return scale * new, duals


def _classes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions sorted by class, where each class starts among them, and its size."""
    order = np.argsort(codes, kind="stable")
    _, starts, sizes = np.unique(codes[order], return_index=True, return_counts=True)
    return order, starts, sizes


def _less_class_means(X: np.ndarray, order: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """A X: rows minus the mean row of their class."""
    means = np.add.reduceat(X.take(order, axis=0), starts, axis=0) / sizes[:, None]
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.repeat(np.arange(len(sizes)), sizes)
    return X - means.take(of_row, axis=0)


def solve_positive(A: Any, b: Any) -> Any:
    """Solve a symmetric positive definite system, by least squares if it is singular; A may be overwritten.

    >>> solve_positive(np.array([[2.0, 0.0], [0.0, 4.0]]), np.ones((2, 1))).ravel()
    array([0.5 , 0.25])
    """
    if is_torch(A):
        torch = namespace_of(A)
        factor, info = torch.linalg.cholesky_ex(A)
        return torch.cholesky_solve(b, factor) if int(info) == 0 else torch.linalg.lstsq(A, b).solution
    kept = A.diagonal().copy()
    x = solve(A.T, b)  # A.T is in LAPACK's order and A is symmetric
    if x is None:
        # Part of a factor has overwritten the lower triangle of A.T, which is the upper one of A.
        A = np.tril(A, -1)
        A = A + A.T + np.diag(kept)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
    return x


def _invert_positive(A: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric positive definite matrix, which is overwritten."""
    factorise(A.T)
    invert_factorised(A.T)
    P = np.tril(A.T)
    return P + np.tril(P, -1).T


def conjugate_gradients(
    system: Callable[[Any], Any], rhs: Any, start: Any, diagonal: Any, rtol: float, max_iter: int = 500
) -> Any:
    """Solve one system per row, all with one product, with the diagonal as preconditioner.

    >>> conjugate_gradients(lambda v: 2.0 * v, np.ones((1, 3)), np.zeros((1, 3)), 2.0, 1e-8)
    array([[0.5, 0.5, 0.5]])
    """
    xp = namespace_of(rhs)
    x = start
    r = rhs - system(x)
    z = r / diagonal
    p, rz = z, (r * z).sum(1)
    goal = rtol**2 * (rhs * rhs / diagonal).sum(1)
    for _ in range(max_iter):
        going = rz > goal
        if not bool(going.any()):
            break
        q = system(p)
        pq = (p * q).sum(1)
        step = xp.where(going, rz / xp.where(going, pq, xp.ones_like(pq)), xp.zeros_like(rz))[:, None]
        x, r = x + step * p, r - step * q
        z = r / diagonal
        new = (r * z).sum(1)
        p = z + (new / xp.where(rz > 0, rz, xp.ones_like(rz)))[:, None] * p
        rz = new
    return x
