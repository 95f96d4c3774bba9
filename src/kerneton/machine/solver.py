"""One-against-rest linear SVMs: a semismooth Newton method on a Gram matrix or on the features; the sign convention for two classes.

Every problem here is ``min_w ½‖w‖² + Σ_i h_i(y_i f_i)`` with ``f = Zw``, where Z contains the features and a constant column (the
intercept, regularised like any weight, as in liblinear). Losses are given by their dual:
``h_i(m) = max_{0 ≤ a ≤ U_i} a (s_i - m) - ½ D_i a²``, attained at ``a = clip((s_i - m) / D_i, 0, U_i)``.

* squared hinge ``C max(0, 1-m)²``: ``s = 1, D = 1/(2C), U = ∞``;
* hinge ``C max(0, 1-m)``: ``U = C`` and a proximal term, see `kerneton.machine.hinge`.

A Newton step fixes the set of examples strictly inside their bounds and solves one linear system for them, so the method ends after
finitely many steps with the exact solution. Arrays have one row per class throughout.

Two classes share one problem. A positive decision value means the second class; its negative is the decision value of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.validation import check_choice, check_positive
from kerneton.machine.arrays import asarray_like, index_like, is_torch, namespace_of, to_numpy
from kerneton.machine.compiled import load
from kerneton.machine.gram_space import DIRECT_GRAM, GramSpace
from kerneton.machine.threads import one_blas_thread

LOSSES = ("squared_hinge", "hinge")
# Shares of the examples with a loss, those with the largest, that the second and third step from zero use: after the
# first step, which uses all, many have a small loss that will be zero in the end.
_SHARES = {2: 0.45, 3: 0.8}


class SVMPath(NamedTuple):
    """Solutions for several values of C, in the given order.

    ``coef`` is (n_C, n_classes, n_examples) from a Gram matrix (signed dual variables) and
    (n_C, n_classes, n_features + 1) from features (weights, then the weight of the constant column);
    ``decision`` is (n_C, n_classes, n_examples).
    """

    coef: Any
    decision: Any
    n_iter: np.ndarray
    converged: np.ndarray


def solve_gram(
    K: Any,
    Y: np.ndarray,
    Cs: Sequence[float],
    *,
    loss: str = "squared_hinge",
    weights: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> SVMPath:
    """All classes and all C from one Gram matrix (NumPy, or torch on any device).

    ``f = βK`` with ``β = y ∘ a``; K (n, n) already includes the ``intercept_scaling²`` of the constant column. ``Y`` (k, n)
    are signs, ``weights`` (k, n) multiply C.

    >>> K = np.eye(2) * 4.0
    >>> solve_gram(K, np.array([[1.0, -1.0]]), [0.5, 5.0]).coef.round(4).tolist()
    [[[0.2, -0.2]], [[0.2439, -0.2439]]]
    """
    K = K.double() if is_torch(K) else np.asarray(K, dtype=np.float64)
    return _solve_path(GramSpace(K), Y, Cs, loss, weights, tol, max_iter)


def solve_primal(
    X: Any,
    Y: np.ndarray,
    Cs: Sequence[float],
    *,
    loss: str = "squared_hinge",
    intercept_scaling: float = 1.0,
    weights: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> SVMPath:
    """All classes and all C on the features themselves, for n_examples ≥ n_features.

    X (n, d) is read in chunks and never copied whole; 0 for ``intercept_scaling`` means no intercept.

    >>> X = np.array([[2.0], [-2.0], [3.0]])
    >>> solve_primal(X, np.array([[1.0, -1.0, 1.0]]), [0.5], intercept_scaling=0).coef.round(4).tolist()
    [[[0.4444, 0.0]]]
    """
    from kerneton.machine.primal_space import PrimalSpace

    return _solve_path(PrimalSpace(X, intercept_scaling), Y, Cs, loss, weights, tol, max_iter)


@one_blas_thread()
def _solve_path(
    space: Any,
    Y: Any,
    Cs: Sequence[float],
    loss: str,
    weights: np.ndarray | None,
    tol: float,
    max_iter: int,
) -> SVMPath:
    """Solve in ascending C, each from the solution before it."""
    for C in Cs:
        check_positive("C", C)
    check_choice("loss", loss, LOSSES)
    like = space.like
    xp = namespace_of(like)
    Y = asarray_like(Y, like)
    S = xp.ones_like(Y) if weights is None else asarray_like(weights, like)
    # An example without weight has the bounds 0 and 0; its D does not matter but must be finite.
    if loss == "squared_hinge":
        space.inverse = 1.0 / xp.where(S > 0, S, xp.ones_like(S))
    else:
        # Smoothing in proportion to the squared norm conditions long and short examples equally well.
        squares = space.squares()
        space.inverse = xp.ones_like(S) * xp.where(squares > 0, squares, xp.ones_like(squares))
    U = xp.where(S > 0, xp.full_like(S, np.inf), xp.zeros_like(S))
    point = Point(space.start(Y.shape[0]), xp.zeros_like(Y))
    a = xp.zeros_like(Y)
    points: dict[int, Point] = {}
    n_iter, converged = np.zeros(len(Cs), dtype=int), np.zeros(len(Cs), dtype=bool)
    for j in np.argsort(np.asarray(Cs, dtype=float), kind="stable"):
        C = float(Cs[j])
        if loss == "squared_hinge":
            smooth = Loss(Y, xp.ones_like(S), 0.5 / C * space.inverse, U)
            found = _compiled_newton(space, smooth, point, tol, max_iter)
            point, n_iter[j], converged[j] = found or newton(space, smooth, point, tol, max_iter)
        else:
            from kerneton.machine.hinge import proximal

            point, a, n_iter[j], converged[j] = proximal(space, Y, C, C * S, point, a, tol, max_iter)
        points[int(j)] = point
    ordered = [points[j] for j in range(len(Cs))]
    return SVMPath(xp.stack([p.coef for p in ordered]), xp.stack([p.f for p in ordered]), n_iter, converged)


class Loss(NamedTuple):
    """The losses ``h(m) = max_{0 ≤ a ≤ U} a (s - m) - ½ D a²`` of margins ``m = y f``; arrays (n_classes, n)."""

    y: Any
    s: Any
    D: Any
    U: Any

    def rows(self, rows: Any) -> Loss:
        return Loss(*(part[rows] for part in self))

    def dual(self, f: Any) -> Any:
        """The maximiser: clip((s - y f) / D, 0, U)."""
        return namespace_of(f).minimum(((self.s - self.y * f) / self.D).clip(0), self.U)

    def value(self, a: Any, f: Any) -> Any:
        return (a * (self.s - self.y * f - 0.5 * self.D * a)).sum(1)


class Point(NamedTuple):
    """Weights, in the form that their space uses, and their decision values."""

    coef: Any
    f: Any

    def toward(self, other: Point, t: Any) -> Point:
        return Point(*(x + t[:, None] * (z - x) for x, z in zip(self, other, strict=True)))


def newton(space: Any, loss: Loss, start: Point, tol: float, max_iter: int) -> tuple[Point, int, bool]:
    """Minimise every class's smooth objective; classes that are done leave the batch.

    A class is done when a full step changes none of its sets (its end is then the exact minimiser), or when its decision values no longer
    change.
    """
    xp = namespace_of(start.f)
    coef, F = start.coef + 0.0, start.f + 0.0
    open_rows, n_iter = np.arange(len(F)), 0
    shares = _SHARES if space.drops_examples and not bool((start.coef != 0).any()) else {}
    while len(open_rows) and n_iter < max_iter:
        n_iter += 1
        rows = slice(None) if len(open_rows) == len(F) else index_like(open_rows, F)
        part, here = loss.rows(rows), Point(coef[rows], F[rows])
        a = part.dual(here.f)
        free = (a > 0) & (a < part.U)
        looked_at = a
        if n_iter in shares:
            free = _largest(a, free, shares[n_iter])
            looked_at = np.where(free, a, 0.0)
        new_coef, exact = space.newton_point(open_rows, here.coef, part, looked_at, free)
        there = Point(new_coef, space.decision(new_coef))
        new_a = part.dual(there.f)
        same = (free == ((new_a > 0) & (new_a < part.U))) & ((a >= part.U) == (new_a >= part.U))
        cost = 0.5 * space.inner(here, here) + part.value(a, here.f)
        new_cost = 0.5 * space.inner(there, there) + part.value(new_a, there.f)
        worse = new_cost > cost + 1e-12 * abs(cost)
        if bool(worse.any()):
            t = _line_search(space, part, here, there)
            there = here.toward(there, xp.where(worse, t, xp.ones_like(t)))
        rest = xp.amax(abs(there.f - here.f), 1) <= space.noise(there) + (1e-3 * tol if exact else tol)
        settled = same.all(1) & ~worse
        # A step that used only a part of the examples may not change anything for that reason.
        done = settled if n_iter in shares else rest | settled if exact else rest
        coef[rows], F[rows] = there
        open_rows = open_rows[~to_numpy(done)]
    return Point(coef, F), n_iter, not len(open_rows)


def _compiled_newton(
    space: Any, loss: Loss, start: Point, tol: float, max_iter: int
) -> tuple[Point, int, bool] | None:
    """The same for the squared hinge on a Gram matrix, with all steps but the first compiled; None if that is impossible."""
    if not space.drops_examples or len(space.K) > DIRECT_GRAM:
        return None
    module = load("kerneton.machine.compiled.newton")
    if module is None or not (np.inf == loss.U).all():
        return None
    n_iter, shares = 0, np.ones(max(_SHARES) + 1)
    if not (start.coef != 0).any():  # all examples have a loss, and all classes share a factorisation
        start, n_iter, done = newton(space, loss, start, tol, 1)
        if done or max_iter == 1:
            return start, n_iter, done
        shares[list(_SHARES)] = list(_SHARES.values())
    n_free = (loss.dual(start.f) > 0).sum(axis=1)
    if n_free.max() * shares[min(2, n_iter + 1)] > module.FEW:
        return None
    coef, F = (np.array(part, order="C") for part in start)
    steps, converged = np.empty(len(F), np.int64), np.empty(len(F), np.bool_)
    arrays = (np.ascontiguousarray(part) for part in (space.K, loss.y, loss.D))
    module.newton(*arrays, coef, F, tol, n_iter, max_iter, shares, steps, converged)
    # Singular systems are left to the plain steps, which use least squares.
    return (Point(coef, F), int(steps.max()), True) if converged.all() else None


def _largest(a: np.ndarray, free: np.ndarray, share: float) -> np.ndarray:
    """Of each row's free examples, the given share with the largest a."""
    n_kept = np.ceil(share * free.sum(axis=1)).astype(int)
    ranked = np.sort(np.where(free, a, 0.0), axis=1)
    last = np.take_along_axis(ranked, a.shape[1] - np.maximum(n_kept, 1)[:, None], axis=1)
    return free & (a >= last)


def _line_search(space: Any, loss: Loss, here: Point, there: Point) -> Any:
    """The exact minimiser on the segment, t from 0 to 1: the root of a piecewise linear, increasing slope."""
    xp = namespace_of(here.f)
    step = Point(there.coef - here.coef, there.f - here.f)
    start, growth = space.inner(here, step), space.inner(step, step)
    low, high, t = xp.zeros_like(start), xp.ones_like(start), xp.full_like(start, 0.5)
    for _ in range(60):
        a = loss.dual(here.f + t[:, None] * step.f)
        slope = start + t * growth - (loss.y * step.f * a).sum(1)
        low, high = xp.where(slope < 0, t, low), xp.where(slope < 0, high, t)
        bent = (a > 0) & (a < loss.U)
        curvature = growth + xp.where(bent, step.f * step.f / loss.D, xp.zeros_like(a)).sum(1)
        newton = t - slope / xp.where(curvature > 0, curvature, xp.ones_like(curvature))
        newton = xp.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
        moved, t = abs(newton - t), newton
        if bool((moved <= 1e-12).all()):
            break
    return t


def one_vs_rest(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Signs (n_classes, n), one row per class; for two classes a single row, that of class 1.

    >>> one_vs_rest(np.array([0, 2, 1]), 3)
    array([[ 1., -1., -1.],
           [-1., -1.,  1.],
           [-1.,  1., -1.]])
    """
    rows = [1] if n_classes == 2 else range(n_classes)
    return np.array([np.where(codes == c, 1.0, -1.0) for c in rows])


def per_class(scores: Any) -> Any:
    """Decision values with a column per class, (n, k), from those of a classifier: (n, k), or (n,) or (n, 1) for two classes.

    >>> per_class(np.array([0.5, -2.0])).tolist()
    [[-0.5, 0.5], [2.0, -2.0]]
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    scores = scores.reshape(-1)
    return namespace_of(scores).stack([-scores, scores], 1)


def chosen_codes(scores: Any) -> np.ndarray:
    """The class of the largest decision value, (n,), from the same input as `per_class`; the first of equals.

    >>> chosen_codes(np.array([0.5, 0.0])).tolist()
    [1, 0]
    """
    return to_numpy(per_class(scores)).argmax(axis=1)
