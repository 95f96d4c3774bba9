"""The linear classifier of more recordings than a Gram matrix can hold: truncated Newton over blocks of features that need not be in
memory.

The problem is that of `kerneton.machine.gram_space.penalised_gram` and `kerneton.machine.solver.solve_gram`. In the features themselves,
with S the scatter
within classes of n recordings, ``t = tr S / n`` and ``α = penalty / t``, each class minimises

    ½/c wᵀ(I + α S)w + ½ v² + C Σ_i s_i max(0, 1 - y_i (w·x_i + ρ v))²,   c = Σ_i ‖x_i‖² / Σ_i x_iᵀ(I + α S)⁻¹x_i

Gradients, products with the Hessian and class means are sums over blocks (`kerneton.machine.blocks`), one pass each. The results of a pass
are scores and arrays of the size of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.progress import Progress, silent
from kerneton.data.validation import check_in, check_positive
from kerneton.exceptions import DataError
from kerneton.machine.arrays import asarray_like, filled, namespace_of, to_numpy
from kerneton.machine.blocks import Blocks, hinge_gradient, inner_and_sum, sum_and_squares
from kerneton.machine.conjugate import conjugate_gradients
from kerneton.machine.precondition import Sample
from kerneton.machine.solver import one_vs_rest
from kerneton.machine.threads import one_blas_thread, ticks

_PROBES = 16  # random sums of recordings from which c is estimated
_EXACT = 512  # recordings up to which each one is a probe, so that c is exact
_SEARCH_STEPS = 60
_AT_ONCE = 4  # products with the Hessian per Newton step if only scores need to converge
_FOR_SCALE = 3  # products for c in that case


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
    settled: float = 0.0,
    max_iter: int = 100,
    seed: int = 0,
    start: tuple[Any, Any] | None = None,
    sample: tuple[np.ndarray, np.ndarray] | None = None,
    progress: Progress | None = None,
) -> PrimalMachine:
    """One-against-rest classifiers with squared hinge loss on features in blocks.

    ``codes`` (n,) are classes 0..k-1 in the order of the blocks' rows; two classes have one row, that of class 1. ``scaling`` is ρ², as in
    `kerneton.machine.folds.machines`, which has the same result; ``weights`` (n_rows, n) are factors s of C. ``scale`` is c if it is known;
    otherwise c is exact for up to 512 recordings, and estimated from 16 seeded sums of recordings for more. A class is done when its
    gradient is ``tol`` times that at zero. With ``settled`` it is also done when a Newton step (of at most four products) changes its
    scores by less than ``settled`` (root mean square over recordings; a margin is 1): scores converge long before weights do in directions
    in which recordings hardly differ. ``start`` are initial weights and intercepts, ``sample`` the positions of some recordings and their
    features, for the preconditioner of `kerneton.machine.precondition`.

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
        problem = _Problem(blocks, codes, C, scaling, weights, settled)
        if sample is not None:
            known = sample[1], sample[0], codes[sample[0]], n
            problem.sample = Sample(*known, blocks.like, progress or silent)
        total = 2 + _FOR_SCALE + max_iter * (_AT_ONCE + 1) if settled else None
        with ticks(progress, total, "passes over the features") as problem.tick:
            problem.regularise(penalty, scale, seed)
            return problem.solve(tol, max_iter, start)


class _Problem:
    """Data that all passes share; arrays have one row per class, and are NumPy's or torch's on the device of the blocks."""

    def __init__(
        self,
        blocks: Blocks,
        codes: np.ndarray,
        C: float,
        scaling: float,
        weights: Any,
        settled: float = 0.0,
    ) -> None:
        self.blocks, self.codes, self.rho = blocks, np.asarray(codes), scaling**0.5
        self.xp = namespace_of(blocks.like)
        self.n_passes, self.settled = 0, settled
        self.sample: Sample | None = None
        self.sizes = np.bincount(self.codes)
        self.counts = self._array(self.sizes)
        self.signs = self._array(one_vs_rest(self.codes, len(self.sizes)))
        self.C = self.signs * self.signs * (C if weights is None else C * self._array(weights))
        self.alpha, self.scale = 0.0, 1.0
        self.tick: Callable[[], None] = lambda: None

    def _count(self) -> None:
        self.n_passes += 1
        self.tick()

    def _array(self, values: Any) -> Any:
        return asarray_like(values, self.blocks.like)

    def _zeros(self, *shape: int) -> Any:
        return filled(shape, 0.0, like=self.blocks.like)

    def regularise(self, penalty: float, scale: float | None, seed: int) -> None:
        """Learn the scatter within classes, and c."""
        n, k = len(self.codes), len(self.sizes)
        members = np.equal.outer(np.arange(k), self.codes).astype(float)
        exact = n <= _EXACT
        z = np.eye(n) if exact else np.random.default_rng(seed).choice([-1.0, 1.0], size=(_PROBES, n))
        self._count()
        norms, sums = self.blocks.reduce(sum_and_squares, self._array(np.concatenate([members, z])))
        squares, probes, self.sums = float(norms.sum()), sums[k:], sums[:k]
        self.means = self.sums / self.counts.clip(1)[:, None]
        size = (squares - float((self.counts * (self.means * self.means).sum(1)).sum())) / n
        if penalty > 0 and size > 1e-12 * squares / n:  # or no class has two recordings that differ
            self.alpha = penalty / size
        if self.alpha:
            self.scale = scale or squares / self._energy(probes) * (1 if exact else _PROBES)

    def _pass(self, W: Any, factors: Any, constants: Any) -> tuple[Any, Any]:
        """Inner products (r, n) of rows of W with recordings, and ``Σ_i (factors inner + constants)_i x_i``."""
        self._count()
        return self.blocks.reduce(inner_and_sum, factors, constants, shared=W)

    def _sum(self, constants: Any) -> Any:
        """Σ_i constants_i x_i."""
        self._count()
        return self.blocks.reduce(inner_and_sum, constants)[1]

    def _energy(self, probes: Any) -> float:
        """Σ uᵀ(I + α S)⁻¹u over probes u = Σ_i z_i x_i, whose mean is the sum over recordings."""

        def system(V: Any, _: np.ndarray) -> Any:
            none, out = self._zeros(len(V), len(self.codes)), V + 0.0
            V = V[:, :-1]
            out[:, :-1] += self._pass(V, none + self.alpha, none)[1] - self.alpha * self._between(V)
            return out

        rhs = self._zeros(len(probes), probes.shape[1] + 1)
        rhs[:, :-1] = probes
        nearly = None if self.sample is None else self.sample.inverse(c=1.0, share=self.alpha)
        most = _FOR_SCALE if self.settled else 500
        return float(conjugate_gradients(system, rhs, 1e-6, most=most, precondition=nearly)[1].sum())

    def _between(self, V: Any) -> Any:
        """Products of Σ_c n_c μ_c μ_cᵀ with every row of V: the total scatter minus that within classes."""
        return ((V @ self.means.T) * self.counts) @ self.means

    def _regulariser(self, V: Any) -> Any:
        """The terms of ``Q V`` that need no pass; Q is the regulariser, V (r, d + 1)."""
        out = V + 0.0
        out[:, :-1] /= self.scale
        if self.alpha:
            out[:, :-1] -= self.alpha / self.scale * self._between(V[:, :-1])
        return out

    def _hessian(self, weights: Any, V: Any) -> tuple[Any, Any]:
        """Products of some classes' Hessians with V (r, d + 1), and scores (r, n) of V."""
        share = self.alpha / self.scale
        inner, total = self._pass(V[:, :-1], weights + share, weights * (self.rho * V[:, -1:]))
        out = self._regulariser(V)
        out[:, :-1] += total
        f = inner + self.rho * V[:, -1:]
        out[:, -1] += self.rho * (weights * f).sum(1)
        return out, f

    def _gradient(self, rows: np.ndarray, W: Any, f: Any) -> Any:
        """Gradients (r, d + 1) of some classes at W with scores f."""
        signs, share = self.signs[rows], self.alpha / self.scale
        pull = -2 * self.C[rows] * signs * (1 - signs * f).clip(0)
        out = self._regulariser(W)
        out[:, :-1] += self._sum(pull + share * (f - self.rho * W[:, -1:]))
        out[:, -1] += self.rho * pull.sum(1)
        return out

    def _begin(self, W: Any) -> tuple[Any, Any]:
        """Scores and gradients of all classes at W, in one pass."""
        self._count()
        signs, zeros = self.signs, self._zeros(*self.signs.shape)
        bias, share = zeros + self.rho * W[:, -1:], zeros + self.alpha / self.scale
        f, total = self.blocks.reduce(hinge_gradient, signs, self.C, bias, share, shared=W[:, :-1])
        out = self._regulariser(W)
        out[:, :-1] += total
        out[:, -1] -= self.rho * 2 * (self.C * signs * (1 - signs * f).clip(0)).sum(1)
        return f, out

    def solve(self, tol: float, max_iter: int, start: Any) -> PrimalMachine:
        k, d = len(self.signs), self.blocks.shape[1]
        W, f = self._zeros(k, d + 1), self._zeros(k, len(self.codes))
        rows = np.arange(k)  # classes that are not done
        if start is None or not self.rho:
            gradient = self._gradient(rows, W, f)
            first = _norms(gradient)
        else:
            W[:, :-1], W[:, -1] = self._array(start[0]), self._array(start[1]) / self.rho
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
        coef, intercept = to_numpy(W[:, :-1]), self.rho * to_numpy(W[:, -1])
        return PrimalMachine(coef, intercept, n_iter, self.n_passes, not len(rows))

    def _step(self, rows: np.ndarray, f: Any, gradient: Any, norms: np.ndarray) -> tuple[Any, Any]:
        """Newton steps (r, d + 1) and their scores (r, n)."""
        weights = 2 * self.C[rows] * (self.signs[rows] * f < 1)
        along, scores = f * 0.0, f * 0.0

        def system(V: Any, some: np.ndarray) -> Any:
            out, scores[some] = self._hessian(weights[some], V)
            return out

        def moved(some: np.ndarray, lengths: Any) -> None:
            along[some] += lengths * scores[some]

        # Steps are solved more exactly near the end, which makes convergence faster than linear.
        forcing = self._array(np.minimum(0.1, norms**0.5))
        most = _AT_ONCE if self.settled else 500
        step, _ = conjugate_gradients(system, -gradient, forcing, moved, most, self._preconditioner(weights))
        return step, along

    def _preconditioner(self, weights: Any) -> Any:
        """The preconditioner from the sample, one for all classes, with the mean of their curvatures."""
        if self.sample is None:
            return None
        c, curvature = self.scale, to_numpy(weights[:, self.sample.rows]).mean(0)
        return self.sample.inverse(c=c, share=self.alpha / c, curvature=curvature, rho=self.rho)

    def _length(self, rows: np.ndarray, W: Any, f: Any, step: Any, along: Any) -> Any:
        """Step lengths (r,): the root of the slope along the step, which increases, between 0 and 2."""
        signs, C, quiet, xp = self.signs[rows], self.C[rows], self._regulariser(step), self.xp
        share = self.alpha / self.scale
        inner, across = along - self.rho * step[:, -1:], f - self.rho * W[:, -1:]
        start = (W * quiet).sum(1) + share * (inner * across).sum(1)
        growth = (step * quiet).sum(1) + share * (inner * inner).sum(1)
        low = start * 0.0
        high, t = low + 2.0, low + 1.0
        for _ in range(_SEARCH_STEPS):
            short = (1 - signs * (f + t[:, None] * along)).clip(0)
            slope = start + t * growth - 2 * (C * signs * along * short).sum(1)
            low, high = xp.where(slope < 0, t, low), xp.where(slope < 0, high, t)
            curvature = growth + 2 * (C * along * along * (short > 0)).sum(1)
            guess = t - xp.where(
                curvature > 0, slope / xp.where(curvature > 0, curvature, growth * 0 + 1), 0.0
            )
            t, before = xp.where((guess > low) & (guess < high), guess, 0.5 * (low + high)), t
            if float(abs(t - before).max()) < 1e-12:
                break
        return t


def _norms(V: Any) -> np.ndarray:
    """Lengths of rows, on the host."""
    return to_numpy((V * V).sum(1)) ** 0.5
