"""Weights of a linear SVM on the features themselves; `kerneton.machine.gram_space` uses combinations of the examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kerneton.machine.arrays import filled, index_like, is_torch, namespace_of, to_numpy
from kerneton.machine.gram_space import EPS, conjugate_gradients, solve_positive

DIRECT_PRIMAL = 1000  # features up to which a Cholesky factorisation is used; one matrix per class is stored
CHUNK_BYTES = 2**24  # size of a float64 copy of float32 features


class PrimalSpace:
    """Weights on the features and the constant column: w of length d + 1, ``f = w · (x, scaling)``."""

    def __init__(self, X: Any, scaling: float) -> None:
        self.X, self.scaling = X, scaling
        self.drops_examples = False
        self.like = X[:1].double() if is_torch(X) else X[:1].astype(np.float64)
        self.inverse: Any = None
        self.n_features = X.shape[1] + 1
        self.products: dict[int, tuple[np.ndarray, Any]] = {}

    def chunks(self, index: np.ndarray | None = None) -> Iterator[tuple[slice, Any]]:
        """Rows of the features in float64, a few at a time."""
        n = len(self.X) if index is None else len(index)
        size = max(1, CHUNK_BYTES // (8 * self.n_features))
        for i in range(0, n, size):
            part = slice(i, min(i + size, n))
            block = self.X[part] if index is None else self.X[index_like(index[part], self.X)]
            yield part, block.double() if is_torch(block) else block.astype(np.float64)

    def start(self, n_classes: int) -> Any:
        return filled((n_classes, self.n_features), 0.0, like=self.like)

    def squares(self) -> Any:
        parts = [(Z * Z).sum(1) for _, Z in self.chunks()]
        return namespace_of(self.like).concatenate(parts) + self.scaling**2

    def decision(self, coef: Any) -> Any:
        f = filled((len(coef), len(self.X)), 0.0, like=coef)
        w, b = coef[:, :-1], self.scaling * coef[:, -1:]
        for part, Z in self.chunks():
            f[:, part] = w @ Z.T + b
        return f

    def combine(self, beta: Any) -> Any:
        """Σ_i β_i z_i, the transpose of `decision`."""
        out = filled((len(beta), self.n_features), 0.0, like=beta)
        for part, Z in self.chunks():
            out[:, :-1] += beta[:, part] @ Z
        out[:, -1] = self.scaling * beta.sum(1)
        return out

    def inner(self, p: Any, q: Any) -> Any:
        return (p.coef * q.coef).sum(1)

    def noise(self, p: Any) -> Any:
        return EPS * namespace_of(p.f).amax(abs(p.f), 1)

    def newton_point(self, rows: np.ndarray, c: Any, loss: Any, a: Any, free: Any) -> tuple[Any, bool]:
        """``w - H⁻¹ g`` with ``H = I + Σ_F z zᵀ / D`` and ``g = w - Σ_i y_i a_i z_i``."""
        xp = namespace_of(c)
        gradient, D = c - self.combine(loss.y * a), loss.D
        if self.n_features <= DIRECT_PRIMAL:
            steps = [self._solve(int(r), gradient[i], D[i], free[i]) for i, r in enumerate(rows)]
            return c - xp.stack(steps), True
        pull = xp.where(free, 1.0 / D, xp.zeros_like(D))

        def hessian(v: Any) -> Any:
            return v + self.combine(pull * self.decision(v))

        step = conjugate_gradients(hessian, gradient, xp.zeros_like(c), 1.0, 1e-2)
        return c - step, False

    def _solve(self, row: int, gradient: Any, D: Any, free: Any) -> Any:
        """One class's step; Σ_F z zᵀ is stored and updated with the changes of F."""
        inverse = self.inverse[row]
        now = to_numpy(free)
        before, product = self.products.get(row, (~now, None))
        changed = np.flatnonzero(now != before)
        if product is None or len(changed) >= now.sum():
            changed = np.flatnonzero(now)
            product = filled((self.n_features, self.n_features), 0.0, like=gradient)
        sign = index_like(np.where(now, 1, -1), gradient)
        for part, Z in self.chunks(changed):
            i = index_like(changed[part], gradient)
            Z = self._with_constant(Z)
            product += Z.T @ (Z * (sign[i] / inverse[i])[:, None])
        self.products[row] = now, product
        stiffness = float(D[0] / inverse[0])
        H = product / stiffness
        H.reshape(-1)[:: len(H) + 1] += 1.0
        return solve_positive(H, gradient[:, None])[:, 0]

    def _with_constant(self, Z: Any) -> Any:
        xp = namespace_of(Z)
        return xp.concatenate([Z, xp.full_like(Z[:, :1], self.scaling)], 1)
