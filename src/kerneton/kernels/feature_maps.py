"""Gaussian pivots: finite feature maps whose dot products approximate Gaussian kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kerneton.data.arrays import asarray_like, namespace_of


def pivots(n_pivots: int, low: float, high: float) -> np.ndarray:
    """Pivots ζ spaced evenly over an interval, ends included; a single one sits in the middle.

    >>> pivots(5, -1, 1).tolist()
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    if n_pivots == 1:
        return np.asarray([(low + high) / 2])
    return np.linspace(low, high, n_pivots)


def pivot_scale(n_pivots: int, low: float, high: float, sigma: float) -> float:
    """√c, c = Δ √(2/πσ²): with it the sum over pivots has the Gaussian's value, not only its shape.

    >>> round(pivot_scale(5, -1, 1, 0.6), 4)
    0.8154
    """
    spacing = (high - low) / max(n_pivots - 1, 1)
    return math.sqrt(spacing * math.sqrt(2 / (math.pi * sigma**2)))


def gaussian_features(u: Any, *, sigma: float, n_pivots: int, low: float = -1.0, high: float = 1.0) -> Any:
    """φ(u)_z = √c exp(-(u-ζ_z)²/σ²), so that φ(u)·φ(v) ≈ exp(-(u-v)²/2σ²); (...,) → (..., Z).

    Inside the interval the error falls like exp(-π²σ²/2Δ²) with the spacing Δ; outside, φ fades to zero.

    >>> x = gaussian_features(np.array([0.1, 0.3]), sigma=0.5, n_pivots=20, low=-3, high=3)
    >>> bool(abs(x[0] @ x[1] - gaussian(0.2, 0.5)) < 1e-5)
    True
    """
    xp = namespace_of(u)
    zeta = asarray_like(pivots(n_pivots, low, high), u)
    scale = pivot_scale(n_pivots, low, high, sigma)
    return xp.exp((u[..., None] - zeta) ** 2 * (-1 / sigma**2)) * scale


def gaussian(u: Any, sigma: float) -> Any:
    """The exact kernel G_σ(u) = exp(-u²/2σ²) of a difference u.

    >>> gaussian(0.0, 0.5)
    np.float64(1.0)
    """
    return np.exp(np.square(u) * (-0.5 / sigma**2))
