"""Powers of symmetric positive semi-definite matrices, from their eigenvalues."""

from __future__ import annotations

import numpy as np


def reference_power(A: np.ndarray, power: float) -> np.ndarray:
    """U diag(λ^γ) Uᵀ in float64, eigenvalues below the rank's floor 2√n ε max|λ| as zero; (..., n,
    n).
    """
    values, vectors = np.linalg.eigh(np.asarray(A, np.float64))
    floor = (
        2 * np.sqrt(A.shape[-1]) * np.finfo(np.float64).eps * np.abs(values).max(-1, keepdims=True)
    )
    powers = np.where(values > floor, np.maximum(values, 1e-300) ** power, 0)
    return (vectors * powers[..., None, :]) @ np.swapaxes(vectors, -1, -2)
