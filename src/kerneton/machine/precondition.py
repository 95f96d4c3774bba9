"""A preconditioner from a sample of the recordings, without a pass over the others.

Features of actions vary strongly in a few directions and weakly in very many: without a preconditioner, conjugate gradients need hundreds
of passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import inv, solve

from kerneton.data.progress import Progress, silent
from kerneton.machine.arrays import BLOCK_FEATURES, add_gram, as_dtype_of, asarray_like, is_torch


class Sample:
    """Features X (m, d) of m of n recordings, their positions among them, and their classes.

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
        like: Any = None,
        progress: Progress = silent,
    ) -> None:
        self.rows, self.factor, self.like = rows, n / len(X), like
        self.K, starts = np.zeros((len(X), len(X))), range(0, X.shape[1], BLOCK_FEATURES)
        for k in progress(starts, total=len(starts), desc="inner products of the sample"):
            add_gram(self.K, X[:, k : k + BLOCK_FEATURES])
        self.X = asarray_like(X, like) if is_torch(like) else X
        members = np.equal.outer(np.unique(codes), codes).astype(float)
        # Squared distance of a recording from the span of the others, times the recordings outside the sample per direction.
        m, apart = len(X), float(np.mean(1 / np.diag(inv(self.K + 1e-6 * np.eye(len(X))))))
        self.outside = apart * (n - m) / max(min(n, X.shape[1]) - m, 1)
        self.less_means = np.eye(len(X)) - members.T @ (members / members.sum(1, keepdims=True))

    def inverse(
        self, *, c: float, share: float, curvature: Any = 0.0, rho: float = 0.0
    ) -> Callable[[Any], Any]:
        """Products of the rows of V (r, d + 1), the last column that of the intercept, with M⁻¹.

        With x̃ = (x, ρ), A subtracting class means, n/m recordings per recording of the sample, and the curvature D (m,) of the loss,

            M = diag(1/c', …, 1/c', 1) + X̃ᵀ T X̃,   T = n/m (share A + diag D),   1/c' = 1/c + (share + mean D) outside

        is inverted by Woodbury's formula, with G = (I + T (c' X Xᵀ + ρ²))⁻¹ T. The second term of 1/c' is what recordings outside the
        sample add, on average, in directions outside its span.
        """
        c = 1 / (1 / c + self.outside * (share + float(np.mean(curvature))))
        T = self.factor * (share * self.less_means + np.diag(np.broadcast_to(curvature, len(self.K))))
        G = solve(np.eye(len(T)) + T @ (c * self.K + rho**2), T)
        X, G = self.X, G if self.like is None else asarray_like(G, self.like)

        def product(V: Any) -> Any:
            inner = as_dtype_of(as_dtype_of(V[:, :-1], X) @ X.T, V)
            U = (c * inner + rho * V[:, -1:]) @ G.T
            out = V + 0.0
            out[:, :-1] *= c
            out[:, :-1] -= c * as_dtype_of(as_dtype_of(U, X) @ X, V)
            out[:, -1] -= rho * U.sum(1)
            return out

        return product
