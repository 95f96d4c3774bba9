"""The linear machine beyond the reach of Gram matrices: truncated Newton over blocks of features that need not be in memory.

The machine is that of `kerneton.machine.gram.penalised_gram` and `kerneton.machine.solver.solve_gram`. In the features themselves, with S the scatter
within classes of n recordings, ``t = tr S / n`` and ``α = penalty / t``, each class minimises

    ½/c wᵀ(I + α S)w + ½ v² + C Σ_i max(0, 1 - y_i (w·x_i + ρ v))²,   c = Σ_i ‖x_i‖² / Σ_i x_iᵀ(I + α S)⁻¹x_i

Everything that looks at recordings is a sum over blocks, one pass each: gradients, products with the Hessian, class means. Blocks
may come from memory, from disk or be computed anew; only numbers of the size of the weights come out of a pass, and scores.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.validation import check_in, check_positive
from kerneton.exceptions import DataError
from kerneton.machine.classes import one_vs_rest
from kerneton.machine.spaces import conjugate_gradients
from kerneton.machine.threads import one_blas_thread

Blocks = Callable[
    [], Iterable[np.ndarray]
]  # called for every pass; arrays (m, d) in the same order each time
_PROBES = 32  # random sums of recordings from which c is estimated
_EXACT = 512  # recordings up to which each is a probe of its own, so that c is exact
_SEARCH_STEPS = 60


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
    scale: float | None = None,
    tol: float = 1e-5,
    max_iter: int = 100,
    seed: int = 0,
) -> PrimalMachine:
    """One-against-rest machines with squared hinge loss on features that come block by block.

    ``codes`` (n,) are classes 0..k-1 in the order of the blocks' rows; two classes have one row, that of class 1. ``scaling`` is ρ², as in
    `kerneton.machine.folds.machines`, to whose answer this one is equal. ``scale`` is c where it is known; otherwise it is exact
    for up to 512 recordings and estimated from 32 seeded sums of recordings beyond. A class is done when its gradient is
    ``tol`` of what it was at zero.

    >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 0.5]])
    >>> machine = solve_blocks(lambda: [X[:2], X[2:]], np.array([1, 0, 1]), 10.0)
    >>> (X @ machine.coef[0] + machine.intercept[0] > 0).tolist()
    [True, False, True]
    """
    check_positive("C", C)
    check_in("penalty", penalty, 0, 1e6)
    with one_blas_thread():
        return _Problem(blocks, codes, C, penalty, scaling, scale, seed).solve(tol, max_iter)


class _Problem:
    """What all passes share; arrays have one row per class."""

    def __init__(
        self,
        blocks: Blocks,
        codes: np.ndarray,
        C: float,
        penalty: float,
        scaling: float,
        scale: float | None,
        seed: int,
    ) -> None:
        self.blocks, self.codes, self.C, self.rho = blocks, np.asarray(codes), C, scaling**0.5
        self.n_passes = 0
        self.counts = np.bincount(self.codes).astype(float)
        self.signs = one_vs_rest(self.codes, len(self.counts))
        self.sums, squares = self._moments()
        means = self.sums / np.maximum(self.counts, 1)[:, None]
        n = len(self.codes)
        size = (squares - float((self.counts * (means * means).sum(axis=1)).sum())) / n
        apart = penalty > 0 and size > 1e-12 * squares / n  # or no class has two recordings that differ
        self.alpha = penalty / size if apart else 0.0
        self.means, self.scale = means, 1.0
        if self.alpha:
            self.scale = self._scale(squares, seed) if scale is None else scale

    def rows(self) -> Iterable[tuple[slice, np.ndarray]]:
        """One pass: positions of each block's rows, and the block."""
        self.n_passes += 1
        start = 0
        n = len(self.codes)
        for X in self.blocks():
            if start + len(X) > n:
                raise DataError(f"the blocks have more than {n} rows in all, expected one per label")
            yield slice(start, start + len(X)), X
            start += len(X)
        if start != n:
            raise DataError(f"the blocks have {start} rows in all, expected {n}, one per label")

    def _moments(self) -> tuple[np.ndarray, float]:
        """Sum of each class's recordings, (k, d), and Σ ‖x_i‖²."""
        sums: Any = 0.0
        squares = 0.0
        for rows, X in self.rows():
            member = np.equal.outer(np.arange(len(self.counts)), self.codes[rows])
            sums = sums + (member.astype(X.dtype) @ X).astype(np.float64)
            squares += float(np.einsum("ij,ij->", X, X, dtype=np.float64))
        return sums, squares

    def _scale(self, squares: float, seed: int) -> float:
        """c, from probes u = Σ_i z_i x_i: the mean of uᵀ(I + α S)⁻¹u is the sum over recordings."""
        n = len(self.codes)
        exact = n <= _EXACT
        z = np.eye(n) if exact else np.random.default_rng(seed).choice([-1.0, 1.0], size=(_PROBES, n))
        u = np.zeros((len(z), self.sums.shape[1]))
        for rows, X in self.rows():
            u += (z[:, rows].astype(X.dtype) @ X).astype(np.float64)
        solved = conjugate_gradients(
            lambda v: v + self.alpha * self._scatter(v), u, np.zeros_like(u), 1.0, 1e-8
        )
        total = float((u * solved).sum()) / (1 if exact else len(z))
        return squares / total

    def _scatter(self, V: np.ndarray) -> np.ndarray:
        """S v of every row of V."""
        out = -((V @ self.means.T) * self.counts) @ self.means
        for _, X in self.rows():
            out += ((V.astype(X.dtype) @ X.T) @ X).astype(np.float64)
        return out

    def _pass(
        self, W: np.ndarray, pull: Callable[[np.ndarray, slice], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores f (k, n) of weights W (k, d + 1), and ``Q W + Σ_i pull(f)_i (x_i, ρ)`` with Q the regulariser."""
        f = np.empty((len(W), len(self.codes)))
        w, share = W[:, :-1], self.alpha / self.scale
        out = np.empty_like(W)
        out[:, :-1] = w / self.scale
        out[:, -1] = W[:, -1]
        if share:
            out[:, :-1] -= share * ((w @ self.means.T) * self.counts) @ self.means
        for rows, X in self.rows():
            inner = (w.astype(X.dtype) @ X.T).astype(np.float64)
            f[:, rows] = inner + self.rho * W[:, -1:]
            pulled = pull(f[:, rows], rows)
            out[:, :-1] += ((pulled + share * inner).astype(X.dtype) @ X).astype(np.float64)
            out[:, -1] += self.rho * pulled.sum(axis=1)
        return f, out

    def solve(self, tol: float, max_iter: int) -> PrimalMachine:
        k, d = len(self.signs), self.sums.shape[1]
        W = np.zeros((k, d + 1))
        first = np.full(k, np.nan)
        n_iter, converged = 0, False
        while True:
            f, gradient = self._pass(
                W, lambda f, at: -2 * self.C * self.signs[:, at] * self._short(f, self.signs[:, at])
            )
            norms = np.sqrt((gradient * gradient).sum(axis=1))
            first = norms if n_iter == 0 else first
            converged = bool((norms <= tol * first).all())
            if converged or n_iter == max_iter:
                break
            n_iter += 1
            weights = 2 * self.C * (self.signs * f < 1)
            # The nearer to the end, the more exactly a step is solved for: convergence is then faster than linear.
            forcing = min(0.1, float((norms / np.maximum(first, 1e-300)).max()) ** 0.5)
            step = -conjugate_gradients(
                functools.partial(self._hessian, weights),
                gradient,
                np.zeros_like(gradient),
                1.0,
                forcing,
            )
            along, bent = self._pass(step, lambda f, _: np.zeros_like(f))
            W = W + self._length(W, step, f, along, bent)[:, None] * step
        return PrimalMachine(W[:, :-1], self.rho * W[:, -1], n_iter, self.n_passes, converged)

    def _hessian(self, weights: np.ndarray, V: np.ndarray) -> np.ndarray:
        return self._pass(V, lambda f, at: weights[:, at] * f)[1]

    @staticmethod
    def _short(f: np.ndarray, signs: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1 - signs * f)

    def _length(
        self, W: np.ndarray, step: np.ndarray, f: np.ndarray, along: np.ndarray, bent: np.ndarray
    ) -> np.ndarray:
        """How far to go, (k,): the root of the slope along the step, which grows, between nothing and twice the step."""
        start, growth = (W * bent).sum(axis=1), (step * bent).sum(axis=1)
        low, high, t = np.zeros(len(W)), np.full(len(W), 2.0), np.ones(len(W))
        for _ in range(_SEARCH_STEPS):
            short = self._short(f + t[:, None] * along, self.signs)
            slope = start + t * growth - 2 * self.C * (self.signs * along * short).sum(axis=1)
            low, high = np.where(slope < 0, t, low), np.where(slope < 0, high, t)
            curvature = growth + 2 * self.C * (along * along * (short > 0)).sum(axis=1)
            guess = t - np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
            t, before = np.where((guess > low) & (guess < high), guess, 0.5 * (low + high)), t
            if np.abs(t - before).max() < 1e-12:
                break
        return t
