"""The linear machine beyond the reach of Gram matrices: truncated Newton over blocks of features that need not be in memory.

The machine is that of `kerneton.machine.gram.penalised_gram` and `kerneton.machine.solver.solve_gram`. In the features themselves, with S the scatter
within classes of n recordings, ``t = tr S / n`` and ``α = penalty / t``, each class minimises

    ½/c wᵀ(I + α S)w + ½ v² + C Σ_i s_i max(0, 1 - y_i (w·x_i + ρ v))²,   c = Σ_i ‖x_i‖² / Σ_i x_iᵀ(I + α S)⁻¹x_i

Everything that looks at recordings is a sum over blocks (`kerneton.machine.blocks`), one pass each: gradients, products with the Hessian,
class means. Only arrays of the size of the weights come out of a pass, and scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.progress import Progress, silent
from kerneton.data.validation import check_in, check_positive
from kerneton.exceptions import DataError
from kerneton.machine.blocks import Blocks, hinge_gradient, inner_and_sum, sum_and_squares
from kerneton.machine.classes import one_vs_rest
from kerneton.machine.threads import one_blas_thread

_PROBES = 16  # random sums of recordings from which c is estimated
_EXACT = 512  # recordings up to which each is a probe of its own, so that c is exact
_SEARCH_STEPS = 60
_AT_ONCE = 8  # products with the Hessian for one Newton step where passes are counted


class PrimalMachine(NamedTuple):
    """Weights (n_rows, d), intercepts (n_rows,), Newton steps, passes over the blocks, and whether it converged."""

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int
    n_passes: int
    converged: bool


def solve_blocks(
    blocks: Blocks,
    codes: np.ndarray,
    C: float,
    *,
    penalty: float = 0.0,
    scaling: float = 1.0,
    weights: np.ndarray | None = None,
    scale: float | None = None,
    tol: float = 1e-5,
    max_passes: int | None = None,
    max_iter: int = 100,
    seed: int = 0,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    progress: Progress | None = None,
) -> PrimalMachine:
    """One-against-rest machines with squared hinge loss on features that come block by block.

    ``codes`` (n,) are classes 0..k-1 in the order of the blocks' rows; two classes have one row, that of class 1. ``scaling`` is ρ², as in
    `kerneton.machine.folds.machines`, to whose answer this one is equal; ``weights`` (n_rows, n) are factors s of C. ``scale`` is c where it is known; otherwise it
    is exact for up to 512 recordings and estimated from 16 seeded sums of recordings beyond. A class is done
    when its gradient is ``tol`` of what it was at zero. With ``max_passes`` Newton steps
    are solved for by at most eight products each, and none is begun after so many passes: scores have long settled when weights
    still move in directions that recordings hardly show. ``start`` are weights and intercepts to begin with.

    >>> from kerneton.machine.blocks import in_memory
    >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 0.5]])
    >>> machine = solve_blocks(in_memory([X[:2], X[2:]]), np.array([1, 0, 1]), 10.0)
    >>> (X @ machine.coef[0] + machine.intercept[0] > 0).tolist()
    [True, False, True]
    """
    check_positive("C", C)
    check_in("penalty", penalty, 0, 1e6)
    n = blocks.shape[0]
    if n != len(codes):
        raise DataError(f"the blocks have {n} rows in all, expected {len(codes)}, one per label")
    with one_blas_thread():
        problem = _Problem(blocks, codes, C, scaling, weights, max_passes)
        problem.regularise(penalty, scale, seed)
        return problem.solve(tol, max_iter, start, progress or silent)


class _Problem:
    """What all passes share; arrays have one row per class."""

    def __init__(
        self,
        blocks: Blocks,
        codes: np.ndarray,
        C: float,
        scaling: float,
        weights: Any,
        max_passes: int | None,
    ) -> None:
        self.blocks, self.codes, self.rho = blocks, np.asarray(codes), scaling**0.5
        self.n_passes, self.most = 0, np.inf if max_passes is None else max_passes
        self.at_once = (
            500 if max_passes is None else _AT_ONCE
        )  # products with the Hessian for one Newton step
        self.counts = np.bincount(self.codes).astype(float)
        self.signs = one_vs_rest(self.codes, len(self.counts))
        self.C = np.broadcast_to(C if weights is None else C * weights, self.signs.shape)
        self.alpha, self.scale = 0.0, 1.0

    def regularise(self, penalty: float, scale: float | None, seed: int) -> None:
        """Learn the scatter within classes, and c."""
        n = len(self.codes)
        members = np.equal.outer(np.arange(len(self.counts)), self.codes).astype(float)
        exact = n <= _EXACT
        z = np.eye(n) if exact else np.random.default_rng(seed).choice([-1.0, 1.0], size=(_PROBES, n))
        self.n_passes += 1
        norms, sums = self.blocks.reduce(sum_and_squares, np.concatenate([members, z]))
        squares, probes = float(norms.sum()), sums[len(members) :]
        self.sums = sums = sums[: len(members)]
        self.means = sums / np.maximum(self.counts, 1)[:, None]
        size = (squares - float((self.counts * (self.means * self.means).sum(axis=1)).sum())) / n
        if penalty > 0 and size > 1e-12 * squares / n:  # or no class has two recordings that differ
            self.alpha = penalty / size
        if self.alpha:
            self.scale = squares / self._energy(probes) * (1 if exact else _PROBES) if scale is None else scale

    def _pass(
        self, W: np.ndarray, factors: np.ndarray, constants: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inner products (r, n) of rows of W with recordings, and ``Σ_i (factors inner + constants)_i x_i``."""
        self.n_passes += 1
        inner, total = self.blocks.reduce(inner_and_sum, factors, constants, shared=W)
        return inner, total

    def _sum(self, constants: np.ndarray) -> np.ndarray:
        """Σ_i constants_i x_i."""
        self.n_passes += 1
        return self.blocks.reduce(inner_and_sum, constants)[1]

    def _energy(self, probes: np.ndarray) -> float:
        """Σ uᵀ(I + α S)⁻¹u over probes u = Σ_i z_i x_i, whose mean is the sum over recordings."""

        def system(V: np.ndarray, _: np.ndarray) -> np.ndarray:
            shape = (len(V), len(self.codes))
            total = self._pass(V, np.broadcast_to(self.alpha, shape), np.broadcast_to(0.0, shape))[1]
            return V + total - self.alpha * self._between(V)

        return float(_conjugate_gradients(system, probes, 1e-6, most=self.at_once)[1].sum())

    def _between(self, V: np.ndarray) -> np.ndarray:
        """Σ_c n_c μ_c μ_cᵀ of every row of V: what the scatter within classes is less than all of it."""
        return ((V @ self.means.T) * self.counts) @ self.means

    def _regulariser(self, V: np.ndarray) -> np.ndarray:
        """Those terms of ``Q V`` that need no pass, Q the regulariser; V (r, d + 1)."""
        out = V.copy()
        out[:, :-1] /= self.scale
        if self.alpha:
            out[:, :-1] -= self.alpha / self.scale * self._between(V[:, :-1])
        return out

    def _hessian(self, weights: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Products of some classes' Hessians with V (r, d + 1), and scores (r, n) of V."""
        share = self.alpha / self.scale
        inner, total = self._pass(V[:, :-1], weights + share, weights * (self.rho * V[:, -1:]))
        out = self._regulariser(V)
        out[:, :-1] += total
        f = inner + self.rho * V[:, -1:]
        out[:, -1] += self.rho * (weights * f).sum(axis=1)
        return out, f

    def _gradient(self, rows: np.ndarray, W: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Gradients (r, d + 1) of some classes at W with scores f."""
        signs, share = self.signs[rows], self.alpha / self.scale
        pull = -2 * self.C[rows] * signs * np.maximum(0.0, 1 - signs * f)
        out = self._regulariser(W)
        out[:, :-1] += self._sum(pull + share * (f - self.rho * W[:, -1:]))
        out[:, -1] += self.rho * pull.sum(axis=1)
        return out

    def _begin(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores and gradients of all classes at W, in one pass."""
        self.n_passes += 1
        signs, share = self.signs, self.alpha / self.scale
        bias, share = (np.broadcast_to(v, signs.shape) for v in (self.rho * W[:, -1:], share))
        f, total = self.blocks.reduce(hinge_gradient, signs, self.C, bias, share, shared=W[:, :-1])
        out = self._regulariser(W)
        out[:, :-1] += total
        out[:, -1] -= self.rho * 2 * (self.C * signs * np.maximum(0.0, 1 - signs * f)).sum(axis=1)
        return f, out

    def solve(self, tol: float, max_iter: int, start: Any, progress: Progress) -> PrimalMachine:
        k, d = len(self.signs), self.blocks.shape[1]
        W, f = np.zeros((k, d + 1)), np.zeros((k, len(self.codes)))
        rows = np.arange(k)  # classes that are not done
        if start is None or not self.rho:
            gradient = self._gradient(rows, W, f)
            first = np.linalg.norm(gradient, axis=1)
        else:
            W[:, :-1], W[:, -1] = start[0], start[1] / self.rho
            f, gradient = self._begin(W)
            # That at nothing, where C is the same for all recordings of a class.
            some = np.unique(self.codes, return_index=True)[1]
            first = np.linalg.norm((2 * self.C * self.signs)[:, some] @ self.sums, axis=1)
        first = np.maximum(first, 1e-300)
        n_iter = 0
        for _ in progress(range(max_iter), total=None, desc="Newton steps"):
            norms = np.linalg.norm(gradient, axis=1) / first[rows]
            rows, gradient, norms = (part[norms > tol] for part in (rows, gradient, norms))
            if not len(rows) or self.n_passes >= self.most:
                break
            n_iter += 1
            step, along = self._step(rows, f[rows], gradient, norms)
            length = self._length(rows, W[rows], f[rows], step, along)[:, None]
            W[rows] += length * step
            f[rows] += length * along
            gradient = self._gradient(rows, W[rows], f[rows])
        return PrimalMachine(W[:, :-1], self.rho * W[:, -1], n_iter, self.n_passes, not len(rows))

    def _step(
        self, rows: np.ndarray, f: np.ndarray, gradient: np.ndarray, norms: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Newton steps (r, d + 1) and their scores (r, n)."""
        weights = 2 * self.C[rows] * (self.signs[rows] * f < 1)
        along, scores = np.zeros_like(f), np.zeros_like(f)

        def system(V: np.ndarray, some: np.ndarray) -> np.ndarray:
            out, scores[some] = self._hessian(weights[some], V)
            return out

        def moved(some: np.ndarray, lengths: np.ndarray) -> None:
            along[some] += lengths * scores[some]

        # The nearer to the end, the more exactly a step is solved for: convergence is then faster than linear.
        forcing = np.minimum(0.1, norms**0.5)
        step, _ = _conjugate_gradients(system, -gradient, forcing, moved, self.at_once)
        return step, along

    def _length(
        self, rows: np.ndarray, W: np.ndarray, f: np.ndarray, step: np.ndarray, along: np.ndarray
    ) -> np.ndarray:
        """How far to go, (r,): the root of the slope along the step, which grows, between nothing and twice the step."""
        signs, C, quiet = self.signs[rows], self.C[rows], self._regulariser(step)
        share = self.alpha / self.scale
        inner, across = along - self.rho * step[:, -1:], f - self.rho * W[:, -1:]
        start = (W * quiet).sum(axis=1) + share * (inner * across).sum(axis=1)
        growth = (step * quiet).sum(axis=1) + share * (inner * inner).sum(axis=1)
        low, high, t = np.zeros(len(W)), np.full(len(W), 2.0), np.ones(len(W))
        for _ in range(_SEARCH_STEPS):
            short = np.maximum(0.0, 1 - signs * (f + t[:, None] * along))
            slope = start + t * growth - 2 * (C * signs * along * short).sum(axis=1)
            low, high = np.where(slope < 0, t, low), np.where(slope < 0, high, t)
            curvature = growth + 2 * (C * along * along * (short > 0)).sum(axis=1)
            guess = t - np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
            t, before = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high)), t
            if np.abs(t - before).max() < 1e-12:
                break
        return t


def _conjugate_gradients(
    system: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rhs: np.ndarray,
    rtol: np.ndarray | float,
    moved: Callable[[np.ndarray, np.ndarray], None] | None = None,
    most: int = 500,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve one system ``A x = b`` per row, those that are not done in one product; answers x and ``bᵀx`` per row.

    ``system(V, rows)`` multiplies some rows, ``moved(rows, lengths)`` is told how far what was last given to ``system`` was
    gone. A row ends when its residual is ``rtol`` of what it was, all after ``most`` products.
    """
    x, r = np.zeros_like(rhs), rhs.copy()
    rows = np.arange(len(rhs))
    p, rz = r.copy(), (r * r).sum(axis=1)
    goal, gain = rtol**2 * rz, np.zeros(len(rhs))
    for _ in range(most):
        going = rz[rows] > goal[rows]
        rows, p = rows[going], p[going]
        if not len(rows):
            break
        q = system(p, rows)
        length = rz[rows] / (p * q).sum(axis=1)
        gain[rows] += length * rz[rows]
        x[rows] += length[:, None] * p
        r[rows] -= length[:, None] * q
        if moved is not None:
            moved(rows, length[:, None])
        new = (r[rows] * r[rows]).sum(axis=1)
        p = r[rows] + (new / rz[rows])[:, None] * p
        rz[rows] = new
    return x, gain
