"""The linear classifier of more recordings than a Gram matrix can hold: truncated Newton over
blocks of features.

The problem is that of `kerneton.machine.solver`, with the within-class penalty of `penalised_gram`.
In the features themselves, with S the scatter within classes of n recordings, ``t = tr S / n`` and
``α = penalty / t``, each class minimises

    ½/c wᵀ(I + α S)w + ½ v² + C Σ_i s_i max(0, 1 - y_i (w·x_i + ρ v))²
    c = Σ_i ‖x_i‖² / Σ_i x_iᵀ(I + α S)⁻¹x_i

Gradients, products with the Hessian and class means are sums over blocks
(`kerneton.machine.blocks`), one pass each; blocks need not be in memory. The results of a pass are
scores and arrays of the size of the weights. Steps are solved by conjugate gradients, for all
classes at a time, preconditioned by a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import inv, solve

from kerneton.data.parameters import check_in, check_positive
from kerneton.data.progress import Progress, silent
from kerneton.exceptions import DataError
from kerneton.machine.blocks import Blocks, hinge_gradient, inner_and_sum, sum_and_squares
from kerneton.machine.products import BLOCK_FEATURES, add_gram
from kerneton.machine.solver import one_vs_rest
from kerneton.parallel.threads import one_blas_thread, ticks

_PROBES = 16  # random sums of recordings from which c is estimated
EXACT = 512  # recordings up to which each one is a probe, so that c is exact
_SEARCH_STEPS = 60
_AT_ONCE = 4  # products with the Hessian per Newton step if only scores need to converge
_FOR_SCALE = 3  # products for c in that case


Product = Callable[[np.ndarray], np.ndarray]  # of rows with a matrix


class Machine(NamedTuple):
    """Weights (n_rows, d), intercepts (n_rows,), Newton steps, passes over the blocks, and whether
    it converged.
    """

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
    settled: float = 0.0,
    max_iter: int = 100,
    seed: int = 0,
    exact: int = EXACT,
    factors: np.ndarray | None = None,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    sample: tuple[np.ndarray, np.ndarray] | None = None,
    progress: Progress | None = None,
) -> Machine:
    """One-against-rest classifiers with squared hinge loss on features in blocks.

    ``codes`` (n,) are classes 0..k-1 in the order of the blocks' rows; two classes have one row,
    that of class 1. ``scaling`` is ρ², as in `kerneton.machine.folds.machines`, which has the same
    result; ``weights`` (n_rows, n) are factors s of C; ``factors`` (d,) multiply the features.

    ``scale`` is c if it is known; otherwise c is exact for up to ``exact`` recordings, and
    estimated from 16 seeded sums of recordings for more. A class is done when its gradient is
    ``tol`` times that at zero. With ``settled`` it is also done when a Newton step (of at most four
    products) changes its scores by less than ``settled`` (root mean square over recordings; a
    margin is 1): scores converge long before weights do in directions in which recordings hardly
    differ.

    ``start`` are initial weights and intercepts, ``sample`` the positions of some recordings and
    their features, times the factors, for the preconditioner (`Sample`).

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
    total = 2 + _FOR_SCALE + max_iter * (_AT_ONCE + 1) if settled else None
    with one_blas_thread(), ticks(progress, total, "passes over the features") as tick:
        known = None
        if sample is not None:
            known = Sample(sample[1], sample[0], codes[sample[0]], n, progress or silent)
        if factors is None:
            factors = np.ones(blocks.shape[1])
        problem = _Problem(blocks, factors, codes, C, scaling, weights, settled, known, tick)
        problem.regularise(penalty, scale, seed, exact)
        return problem.solve(tol, max_iter, start)


class _Problem:
    """What all passes share; arrays have one row per class."""

    def __init__(
        self,
        blocks: Blocks,
        factors: np.ndarray,
        codes: np.ndarray,
        C: float,
        scaling: float,
        weights: np.ndarray | None,
        settled: float,
        sample: Sample | None,
        tick: Callable[[], None],
    ) -> None:
        self.blocks, self.factors = blocks, np.asarray(factors, np.float64)
        self.codes, self.rho, self.settled = np.asarray(codes), scaling**0.5, settled
        self.sample, self.tick, self.n_passes = sample, tick, 0
        self.counts = np.bincount(self.codes).astype(float)
        self.signs = one_vs_rest(self.codes, len(self.counts))
        self.C = np.full(self.signs.shape, float(C)) * (1.0 if weights is None else weights)
        self.alpha, self.scale = 0.0, 1.0

    def _count(self) -> None:
        self.n_passes += 1
        self.tick()

    def regularise(self, penalty: float, scale: float | None, seed: int, most_exact: int) -> None:
        """Learn the scatter within classes, and c."""
        n, k = len(self.codes), len(self.counts)
        members = np.equal.outer(np.arange(k), self.codes).astype(float)
        exact = n <= most_exact
        z = (
            np.eye(n)
            if exact
            else np.random.default_rng(seed).choice([-1.0, 1.0], size=(_PROBES, n))
        )
        self._count()
        norms, sums = self.blocks.reduce(
            sum_and_squares, np.concatenate([members, z]), shared=self.factors**2
        )
        sums *= self.factors
        assert norms is not None
        squares, probes, self.sums = float(norms.sum()), sums[k:], sums[:k]
        self.means = self.sums / self.counts.clip(1)[:, None]
        size = (squares - float((self.counts * (self.means * self.means).sum(1)).sum())) / n
        if penalty > 0 and size > 1e-12 * squares / n:  # or no class has two recordings that differ
            self.alpha = penalty / size
        if self.alpha:
            self.scale = scale or squares / self._energy(probes) * (1 if exact else _PROBES)

    def _pass(
        self, W: np.ndarray, factors: np.ndarray, constants: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inner products (r, n) of rows of W with recordings, and ``Σ_i (factors inner +
        constants)_i x_i``.
        """
        self._count()
        inner, total = self.blocks.reduce(
            inner_and_sum, factors, constants, shared=W * self.factors
        )
        assert inner is not None
        return inner, total * self.factors

    def _sum(self, constants: np.ndarray) -> np.ndarray:
        """Σ_i constants_i x_i."""
        self._count()
        return self.blocks.reduce(inner_and_sum, constants)[1] * self.factors

    def _energy(self, probes: np.ndarray) -> float:
        """Σ uᵀ(I + α S)⁻¹u over probes u = Σ_i z_i x_i, whose mean is the sum over recordings."""

        def system(V: np.ndarray, _: np.ndarray) -> np.ndarray:
            none, out = np.zeros((len(V), len(self.codes))), V.copy()
            V = V[:, :-1]
            out[:, :-1] += self._pass(V, none + self.alpha, none)[1] - self.alpha * self._between(V)
            return out

        rhs = np.zeros((len(probes), probes.shape[1] + 1))
        rhs[:, :-1] = probes
        nearly = None if self.sample is None else self.sample.inverse(c=1.0, share=self.alpha)
        most = _FOR_SCALE if self.settled else 500
        return float(
            conjugate_gradients(system, rhs, 1e-6, most=most, precondition=nearly)[1].sum()
        )

    def _between(self, V: np.ndarray) -> np.ndarray:
        """Products of Σ_c n_c μ_c μ_cᵀ with every row of V: the total scatter minus that within
        classes.
        """
        return ((V @ self.means.T) * self.counts) @ self.means

    def _regulariser(self, V: np.ndarray) -> np.ndarray:
        """The terms of ``Q V`` that need no pass; Q is the regulariser, V (r, d + 1)."""
        out = V + 0.0
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
        out[:, -1] += self.rho * (weights * f).sum(1)
        return out, f

    def _gradient(self, rows: np.ndarray, W: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Gradients (r, d + 1) of some classes at W with scores f."""
        signs, share = self.signs[rows], self.alpha / self.scale
        pull = -2 * self.C[rows] * signs * (1 - signs * f).clip(0)
        out = self._regulariser(W)
        out[:, :-1] += self._sum(pull + share * (f - self.rho * W[:, -1:]))
        out[:, -1] += self.rho * pull.sum(1)
        return out

    def _begin(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores and gradients of all classes at W, in one pass."""
        self._count()
        signs, zeros = self.signs, np.zeros(self.signs.shape)
        bias, share = zeros + self.rho * W[:, -1:], zeros + self.alpha / self.scale
        pulls = signs, self.C, bias, share
        f, total = self.blocks.reduce(hinge_gradient, *pulls, shared=W[:, :-1] * self.factors)
        assert f is not None
        total *= self.factors
        out = self._regulariser(W)
        out[:, :-1] += total
        out[:, -1] -= self.rho * 2 * (self.C * signs * (1 - signs * f).clip(0)).sum(1)
        return f, out

    def solve(
        self, tol: float, max_iter: int, start: tuple[np.ndarray, np.ndarray] | None
    ) -> Machine:
        k, d = len(self.signs), self.blocks.shape[1]
        W, f = np.zeros((k, d + 1)), np.zeros((k, len(self.codes)))
        rows = np.arange(k)  # classes that are not done
        if start is None or not self.rho:
            gradient = self._gradient(rows, W, f)
            first = _norms(gradient)
        else:
            W[:, :-1], W[:, -1] = start[0], start[1] / self.rho
            f, gradient = self._begin(W)
            # The loss at zero weights, if C is the same for all recordings of a class.
            some = np.unique(self.codes, return_index=True)[1]
            first = _norms((2 * self.C * self.signs)[:, some] @ self.sums)
        first = np.maximum(first, 1e-300)
        n_iter = 0
        for _ in range(max_iter):
            norms = _norms(gradient) / first[rows]
            going = norms > tol
            rows, gradient, norms = rows[going], gradient[going], norms[going]
            if not len(rows):
                break
            n_iter += 1
            step, along = self._step(rows, f[rows], gradient, norms)
            length = self._length(rows, W[rows], f[rows], step, along)[:, None]
            W[rows] += length * step
            f[rows] += length * along
            rows = rows[_norms(length * along) > self.settled * len(self.codes) ** 0.5]
            if not len(rows):
                break
            gradient = self._gradient(rows, W[rows], f[rows])
        coef, intercept = W[:, :-1], self.rho * W[:, -1]
        return Machine(coef, intercept, n_iter, self.n_passes, not len(rows))

    def _step(
        self, rows: np.ndarray, f: np.ndarray, gradient: np.ndarray, norms: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Newton steps (r, d + 1) and their scores (r, n)."""
        weights = 2 * self.C[rows] * (self.signs[rows] * f < 1)
        along, scores = f * 0.0, f * 0.0

        def system(V: np.ndarray, some: np.ndarray) -> np.ndarray:
            out, scores[some] = self._hessian(weights[some], V)
            return out

        def moved(some: np.ndarray, lengths: np.ndarray) -> None:
            along[some] += lengths * scores[some]

        # Steps are solved more exactly near the end, which makes convergence faster than linear.
        forcing = np.minimum(0.1, norms**0.5)
        most = _AT_ONCE if self.settled else 500
        step, _ = conjugate_gradients(
            system, -gradient, forcing, moved, most, self._preconditioner(weights)
        )
        return step, along

    def _preconditioner(self, weights: np.ndarray) -> Product | None:
        """The preconditioner from the sample, one for all classes, with the mean of their
        curvatures.
        """
        if self.sample is None:
            return None
        c, curvature = self.scale, weights[:, self.sample.rows].mean(axis=0)
        return self.sample.inverse(c=c, share=self.alpha / c, curvature=curvature, rho=self.rho)

    def _length(
        self, rows: np.ndarray, W: np.ndarray, f: np.ndarray, step: np.ndarray, along: np.ndarray
    ) -> np.ndarray:
        """Step lengths (r,): the root of the slope along the step, which increases, between 0 and
        2.
        """
        signs, C, quiet = self.signs[rows], self.C[rows], self._regulariser(step)
        share = self.alpha / self.scale
        inner, across = along - self.rho * step[:, -1:], f - self.rho * W[:, -1:]
        start = (W * quiet).sum(1) + share * (inner * across).sum(1)
        growth = (step * quiet).sum(1) + share * (inner * inner).sum(1)
        low = start * 0.0
        high, t = low + 2.0, low + 1.0
        for _ in range(_SEARCH_STEPS):
            short = (1 - signs * (f + t[:, None] * along)).clip(0)
            slope = start + t * growth - 2 * (C * signs * along * short).sum(1)
            low, high = np.where(slope < 0, t, low), np.where(slope < 0, high, t)
            curvature = growth + 2 * (C * along * along * (short > 0)).sum(1)
            guess = t - np.where(
                curvature > 0, slope / np.where(curvature > 0, curvature, 1.0), 0.0
            )
            t, before = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high)), t
            if float(abs(t - before).max()) < 1e-12:
                break
        return t


def _norms(V: np.ndarray) -> np.ndarray:
    return np.linalg.norm(V, axis=1)


class Sample:
    """A preconditioner from a sample of the recordings, without a pass over the others.

    Features of actions vary strongly in a few directions and weakly in very many: without it,
    conjugate gradients need hundreds of passes. Features X (m, d) of m of n recordings, their
    positions among them, and their classes.

    >>> sample = Sample(np.eye(2), np.array([0, 1]), np.array([0, 0]), 2)
    >>> inverse = sample.inverse(c=1.0, share=1.0)  # of I + XᵀAX, A = [[1, -1], [-1, 1]] / 2
    >>> inverse(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])).round(2).tolist()
    [[1.0, 1.0, 0.0], [0.5, -0.5, 0.0]]
    """

    def __init__(
        self,
        X: np.ndarray,
        rows: np.ndarray,
        codes: np.ndarray,
        n: int,
        progress: Progress = silent,
    ) -> None:
        self.rows, self.factor, self.X = rows, n / len(X), X
        self.K, starts = np.zeros((len(X), len(X))), range(0, X.shape[1], BLOCK_FEATURES)
        for k in progress(starts, total=len(starts), desc="inner products of the sample"):
            add_gram(self.K, X[:, k : k + BLOCK_FEATURES])
        members = np.equal.outer(np.unique(codes), codes).astype(float)
        # Squared distance of a recording from the span of the others, times the recordings outside
        # the sample per direction.
        m, apart = len(X), float(np.mean(1 / np.diag(inv(self.K + 1e-6 * np.eye(len(X))))))
        self.outside = apart * (n - m) / max(min(n, X.shape[1]) - m, 1)
        self.less_means = np.eye(len(X)) - members.T @ (members / members.sum(1, keepdims=True))

    def inverse(
        self, *, c: float, share: float, curvature: np.ndarray | float = 0.0, rho: float = 0.0
    ) -> Product:
        """Products of the rows of V (r, d + 1), the last column that of the intercept, with M⁻¹.

        With x̃ = (x, ρ), A subtracting class means, n/m recordings per recording of the sample, and
        the curvature D (m,) of the loss,

            M = diag(1/c', …, 1/c', 1) + X̃ᵀ T X̃,   T = n/m (share A + diag D)
            1/c' = 1/c + (share + mean D) outside

        is inverted by Woodbury's formula, with G = (I + T (c' X Xᵀ + ρ²))⁻¹ T. The second term of
        1/c' is what recordings outside the sample add, on average, in directions outside its span.
        """
        c = 1 / (1 / c + self.outside * (share + float(np.mean(curvature))))
        T = self.factor * (
            share * self.less_means + np.diag(np.broadcast_to(curvature, len(self.K)))
        )
        G = solve(np.eye(len(T)) + T @ (c * self.K + rho**2), T)
        X = self.X

        def product(V: np.ndarray) -> np.ndarray:
            inner = (V[:, :-1].astype(X.dtype) @ X.T).astype(V.dtype)
            U = (c * inner + rho * V[:, -1:]) @ G.T
            out = V + 0.0
            out[:, :-1] *= c
            out[:, :-1] -= c * (U.astype(X.dtype) @ X).astype(V.dtype)
            out[:, -1] -= rho * U.sum(1)
            return out

        return product


def conjugate_gradients(
    system: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rhs: np.ndarray,
    rtol: np.ndarray | float,
    moved: Callable[[np.ndarray, np.ndarray], None] | None = None,
    most: int = 500,
    precondition: Product | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve one system ``A x = b`` per row, all unfinished ones with one product; returns x and
    ``bᵀx`` per row.

    ``system(V, rows)`` multiplies some rows, ``moved(rows, lengths)`` is called with the step
    lengths along the last directions given to ``system``. A row ends when its residual is ``rtol``
    times the first one, all end after ``most`` products. ``precondition`` multiplies residuals with
    an approximate inverse of A; residuals are then measured in its norm.

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
        going = rz[rows] > goal[rows]
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
