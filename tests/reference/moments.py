"""Derivatives of powers by LAPACK's eigenvalues, and how joints move, written out."""

from __future__ import annotations

import numpy as np


def reference_gradient(A: np.ndarray, W: np.ndarray, power: float) -> np.ndarray:
    """∇f(A)/γ of ``f(A) = ⟨W, A^γ⟩``; eigenvalues below the rank's floor are left out; both (...,
    d, d).
    """
    eps = np.finfo(np.float64).eps
    W = (W + W.swapaxes(-1, -2)) / 2
    if power == 1:
        return W
    lam, U = np.linalg.eigh(A)
    kept = lam > 2 * np.sqrt(A.shape[-1]) * eps * np.abs(lam).max(axis=-1, keepdims=True)
    logs = np.log(np.where(kept, lam, 1.0))
    # (λ_j^γ - λ_i^γ) / (λ_j - λ_i) = λ_i^(γ-1) (r^γ - 1) / (r - 1) with r = λ_j / λ_i, where
    # expm1 keeps all digits also of eigenvalues next to each other.
    steps = logs[..., None, :] - logs[..., :, None]
    near = np.abs(steps) < eps
    quotients = np.expm1(power * steps) / np.where(near, 1.0, np.expm1(steps))
    K = np.where(near, power, quotients) * np.exp((power - 1) * logs)[..., :, None]
    K = np.where(kept[..., None, :] & kept[..., :, None], K, 0.0)
    back = U.swapaxes(-1, -2)
    return np.asarray(U @ (K * (back @ W @ U)) @ back) / power


def reference_motion(joints: np.ndarray, fps: float | None) -> np.ndarray:
    """Squares of the squares of distances from the usual place and of speeds; (T, J)."""
    x = joints.astype(np.float64)
    squares = ((x - np.median(x, axis=0)) ** 2).sum(axis=2)
    if len(x) > 1:
        squares += ((0.2 * (fps or 30.0) * np.gradient(x, axis=0)) ** 2).sum(axis=2)
    return squares**2 + 1e-12
