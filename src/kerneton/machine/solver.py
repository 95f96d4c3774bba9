"""One-against-rest linear SVMs with the squared hinge: a semismooth Newton method on a Gram matrix.

Every class minimises ``½‖w‖² + ½ Σ_i c_i max(0, 1 - y_i f_i)²`` with ``f = Zw``, where Z contains
the features and a constant column (the intercept, regularised like any weight, as in liblinear) and
``c_i = 2 C s_i``. The weights are combinations of the examples, ``w = Σ_j β_j z_j``, so β and ``f =
βK`` follow from the Gram matrix K alone.

A Newton step fixes the set F of examples with a loss, ``a_i = c_i max(0, 1 - y_i f_i) > 0``, and
solves ``(K_FF + diag 1/c_F) β_F = y_F``, with β zero elsewhere. The method ends after finitely many
steps with the exact solution. Arrays have one row per class throughout.

Two classes share one problem. A positive decision value means the second class; its negative is the
decision value of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kerneton.core.newton import newton as core_newton
from kerneton.data.parameters import check_positive
from kerneton.machine.lapack import divide_right, factorise, solve, solve_factorised
from kerneton.parallel.threads import one_blas_thread

FEW = 1000  # examples with a loss up to which the core is faster than LAPACK
_EPS = 2.0**-52
# Shares of the examples with a loss, those with the largest, that the second and third step from
# zero use: after the first step, which uses all, many have a small loss that will be zero in the
# end.
_SHARES = np.array([1.0, 1.0, 0.45, 0.8])


class SVMPath(NamedTuple):
    """Solutions for several values of C, in the given order.

    ``coef`` are the signed dual variables β and ``decision`` the decision values f, both
    (n_C, n_classes, n_examples).
    """

    coef: np.ndarray
    decision: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


@one_blas_thread()
def solve_gram(
    K: np.ndarray,
    Y: np.ndarray,
    Cs: Sequence[float],
    *,
    weights: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    few: int = FEW,
) -> SVMPath:
    """All classes and all C from one Gram matrix, in ascending C, each from the solution before it.

    K (n, n) already includes the ``intercept_scaling²`` of the constant column. ``Y`` (k, n) are
    signs, ``weights`` (k, n) factors s of C, not negative. Systems of up to ``few`` examples are
    solved in the core.

    >>> K = np.eye(2) * 4.0
    >>> solve_gram(K, np.array([[1.0, -1.0]]), [0.5, 5.0]).coef.round(4).tolist()
    [[[0.2, -0.2]], [[0.2439, -0.2439]]]
    """
    for C in Cs:
        check_positive("C", C)
    K, Y = np.ascontiguousarray(K, np.float64), np.ascontiguousarray(Y, np.float64)
    strength = 2 * (np.ones_like(Y) if weights is None else np.asarray(weights, np.float64))
    coef, decision = np.zeros((len(Cs), *Y.shape)), np.zeros((len(Cs), *Y.shape))
    n_iter, converged = np.zeros(len(Cs), dtype=int), np.zeros(len(Cs), dtype=bool)
    point = Point(np.zeros_like(Y), np.zeros_like(Y))
    for j in np.argsort(np.asarray(Cs, dtype=float), kind="stable"):
        problem = Problem(K, Y, float(Cs[j]) * strength)
        point, n_iter[j], converged[j] = minimise(problem, point, tol, max_iter, few)
        coef[j], decision[j] = point
    return SVMPath(coef, decision, n_iter, converged)


class Point(NamedTuple):
    """β of every class and the decision values f = βK, both (n_classes, n)."""

    coef: np.ndarray
    f: np.ndarray


class Problem(NamedTuple):
    """A Gram matrix (n, n), and the signs and the factors c of the examples of every class,
    (n_classes, n).
    """

    K: np.ndarray
    y: np.ndarray
    c: np.ndarray

    def rows(self, rows: np.ndarray) -> Problem:
        return Problem(self.K, self.y[rows], self.c[rows])

    def loss(self, f: np.ndarray) -> np.ndarray:
        """a = c max(0, 1 - y f)."""
        return self.c * (1 - self.y * f).clip(0)

    def cost(self, point: Point, a: np.ndarray) -> np.ndarray:
        return 0.5 * (point.coef * point.f + a * (1 - self.y * point.f)).sum(axis=1)


def minimise(
    problem: Problem, start: Point, tol: float, max_iter: int, few: int = FEW
) -> tuple[Point, int, bool]:
    """The minimum of every class from a start, the number of steps, and whether all classes
    converged.
    """
    n_iter, shares = 0, np.ones(1)
    if not start.coef.any():  # all examples have a loss, so all classes share a factorisation
        start, n_iter, done = newton(problem, start, tol, 1)
        if done or max_iter == 1:
            return start, n_iter, done
        shares = _SHARES
    n_free = (problem.loss(start.f) > 0).sum(axis=1)
    if n_free.max() * (shares[2] if len(shares) > 2 else 1) <= few:
        coef, F = (np.array(part, order="C") for part in start)
        steps, converged = core_newton(
            *problem, coef, F, tol=tol, n_iter=n_iter, max_iter=max_iter, shares=shares
        )
        if converged.all():
            return Point(coef, F), int(steps.max()), True
        # Singular systems are left to the steps below, which use least squares.
    return newton(problem, start, tol, max_iter, n_iter, shares)


def newton(
    problem: Problem,
    start: Point,
    tol: float,
    max_iter: int,
    n_iter: int = 0,
    shares: np.ndarray = _SHARES,
) -> tuple[Point, int, bool]:
    """Newton steps by LAPACK; classes that are done leave the batch.

    A class is done when a full step does not change its set (its end is then the exact minimiser),
    or when its decision values no longer change.
    """
    coef, F = start.coef.copy(), start.f.copy()
    norms = np.sqrt(problem.K.diagonal())
    rows = np.arange(len(F))  # classes that are not done
    while len(rows) and n_iter < max_iter:
        n_iter += 1
        share = float(shares[n_iter]) if n_iter < len(shares) else 1.0
        part, here = problem.rows(rows), Point(coef[rows], F[rows])
        a = part.loss(here.f)
        free = a > 0
        if share < 1:
            free &= a >= _largest(a, free, share)
        there = _step(part, free)
        new_a = part.loss(there.f)
        same = (free == (new_a > 0)).all(axis=1)
        cost, new_cost = part.cost(here, a), part.cost(there, new_a)
        worse = new_cost > cost + 1e-12 * abs(cost)
        if worse.any():
            t = np.where(worse, _line_search(part, here, there), 1.0)[:, None]
            there = Point(*(x + t * (z - x) for x, z in zip(here, there, strict=True)))
        coef[rows], F[rows] = there
        noise = _EPS * (abs(there.coef) * norms).sum(axis=1) * norms.max()
        # A step that used only a part of the examples may not change anything for that reason.
        rest = (abs(there.f - here.f).max(axis=1) <= noise + 1e-3 * tol) & (share == 1)
        rows = rows[~(rest | (same & ~worse))]
    return Point(coef, F), n_iter, not len(rows)


def _largest(a: np.ndarray, free: np.ndarray, share: float) -> np.ndarray:
    """The smallest loss (k, 1) of the given share of each row's free examples, those with the
    largest.
    """
    n_kept = np.ceil(share * free.sum(axis=1)).astype(int)
    last = a.shape[1] - np.maximum(n_kept, 1)
    return np.take_along_axis(np.sort(a, axis=1), last[:, None], axis=1)


def _step(problem: Problem, free: np.ndarray) -> Point:
    """The solution of each class's system; with the same free set, as in the first step, classes
    share it.
    """
    K, y, c = problem
    coef = np.zeros_like(y)
    together = bool((free == free[0]).all() and (c == c[0]).all())
    for rows in [slice(None)] if together else [slice(row, row + 1) for row in range(len(y))]:
        F = np.flatnonzero(free[rows][0])
        if len(F):
            A = K.take(F[:, None] * len(K) + F) if len(F) < len(K) else K.copy()
            A.reshape(-1)[:: len(F) + 1] += 1 / c[rows][0, F]
            coef[rows, F] = solve_positive(A, y[rows, F].T).T
    return Point(coef, coef @ K)


def _line_search(problem: Problem, here: Point, there: Point) -> np.ndarray:
    """The exact minimiser on the segment, t from 0 to 1: the root of a piecewise linear, increasing
    slope.
    """
    y, c, step = problem.y, problem.c, there.f - here.f
    start = (here.coef * step).sum(axis=1)
    growth = ((there.coef - here.coef) * step).sum(axis=1)
    low, high, t = np.zeros_like(start), np.ones_like(start), np.full_like(start, 0.5)
    for _ in range(60):
        a = problem.loss(here.f + t[:, None] * step)
        slope = start + t * growth - (y * step * a).sum(axis=1)
        low, high = np.where(slope < 0, t, low), np.where(slope < 0, high, t)
        curvature = growth + np.where(a > 0, step * step * c, 0.0).sum(axis=1)
        guess = t - slope / np.where(curvature > 0, curvature, 1.0)
        guess = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high))
        moved, t = abs(guess - t), guess
        if (moved <= 1e-12).all():
            break
    return t


def solve_positive(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve a symmetric positive definite system, by least squares if it is singular; A may be
    overwritten.

    >>> solve_positive(np.array([[2.0, 0.0], [0.0, 4.0]]), np.ones((2, 1))).ravel()
    array([0.5 , 0.25])
    """
    kept = A.diagonal().copy()
    x = solve(A.T, b)  # A.T is in LAPACK's order and A is symmetric
    if x is None:
        # Part of a factor has overwritten the lower triangle of A.T, which is the upper one of A.
        A = np.tril(A, -1)
        A = A + A.T + np.diag(kept)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
    return x


def penalised_gram(
    K: np.ndarray, codes: np.ndarray, strength: float
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Gram matrix (n, n) with a penalty on directions in which recordings of one class differ, and
    a function for the duals.

    With the scatter within classes ``S = Σ_i (x_i - μ_{y_i})(x_i - μ_{y_i})ᵀ`` of n recordings and
    ``t = tr S / n``, a linear classifier with the regulariser ``wᵀ(I + strength S / t)w`` instead
    of ``wᵀw`` is an ordinary one with the inner products ``xᵀ(I + strength S / t)⁻¹z``. From ``K``
    alone, with A subtracting class means,

        K' = c (K - K A P A K),   P = (A K A + t / strength I)⁻¹

    c ≥ 1 makes the mean of the new diagonal equal to that of the old one, so that C keeps its
    meaning; the regulariser is ``wᵀ(I + strength S / t)w / c``. Duals β (k, n) of the new problem
    are ``c (β - β K A P A)`` in the old one; the second result computes them. Prediction costs
    nothing more.

    >>> X = np.array(
    ...     [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
    ... )  # the second feature is noise
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


def _less_class_means(
    X: np.ndarray, order: np.ndarray, starts: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """A X: rows minus the mean row of their class."""
    means = np.add.reduceat(X.take(order, axis=0), starts, axis=0) / sizes[:, None]
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.repeat(np.arange(len(sizes)), sizes)
    return X - means.take(of_row, axis=0)


def one_vs_rest(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Signs (n_classes, n), one row per class; for two classes a single row, that of class 1.

    >>> one_vs_rest(np.array([0, 2, 1]), 3)
    array([[ 1., -1., -1.],
           [-1., -1.,  1.],
           [-1.,  1., -1.]])
    """
    rows = [1] if n_classes == 2 else range(n_classes)
    return np.array([np.where(codes == c, 1.0, -1.0) for c in rows])


def per_class(scores: np.ndarray) -> np.ndarray:
    """Decision values with a column per class, (n, k), from a classifier's: (n, k), or (n,) or (n,
    1) for two.

    >>> per_class(np.array([0.5, -2.0])).tolist()
    [[-0.5, 0.5], [2.0, -2.0]]
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    scores = scores.reshape(-1)
    return np.stack([-scores, scores], axis=1)


def chosen_codes(scores: np.ndarray) -> np.ndarray:
    """The class of the largest decision value, (n,), from the same input as `per_class`; the first
    of equals.

    >>> chosen_codes(np.array([0.5, 0.0])).tolist()
    [1, 0]
    """
    return per_class(scores).argmax(axis=1)
