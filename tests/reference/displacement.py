"""Sums over pairs of frames of mapped displacements, as in the formula of DCK."""

from __future__ import annotations

import numpy as np


def reference_window(n_frames: int, sigma_span: float | None) -> np.ndarray:
    """G_σ4(s-s') without its diagonal, (T, T); ones without a window."""
    steps = np.subtract.outer(np.arange(n_frames), np.arange(n_frames)).astype(float)
    window = (
        np.ones_like(steps) if sigma_span is None else np.exp(-(steps**2) / (2 * sigma_span**2))
    )
    np.fill_diagonal(window, 0)
    return window


def reference_sums(
    x: np.ndarray,
    z: np.ndarray,
    pairs: np.ndarray,
    *,
    sigma: float,
    n_pivots: int,
    sigma_span: float | None,
    reach: float = 1.0,
) -> np.ndarray:
    """Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s) z_q(s') of x (T, J, 3) and z (T, P), (n_pairs,
    3Z, P, P).
    """
    x, z = np.asarray(x, np.float64), np.asarray(z, np.float64)
    window = reference_window(len(x), sigma_span)
    spacing = 2 * reach / max(n_pivots - 1, 1)
    zeta = np.linspace(-reach, reach, n_pivots) if n_pivots > 1 else np.zeros(1)
    height = np.sqrt(spacing * np.sqrt(2 / np.pi) / sigma)
    out = []
    for i, k in pairs:
        steps = x[:, None, i] - x[None, :, k]  # (T, T, 3)
        phi = height * np.exp(-((steps[..., None] - zeta) ** 2) / sigma**2)
        weighted = phi.reshape(*window.shape, -1) * window[..., None]
        out.append(np.einsum("stz,sp,tq->zpq", weighted, z, z, optimize=True))
    return np.stack(out)


def reference_peak(
    z: np.ndarray, *, sigma: float, n_pivots: int, sigma_span: float | None, reach: float = 1.0
) -> np.ndarray:
    """The sums with every φ at its largest, (P, P): what errors are held against."""
    z = np.asarray(z, np.float64)
    height = np.sqrt(2 * reach / max(n_pivots - 1, 1) * np.sqrt(2 / np.pi) / sigma)
    return height * (z.T @ reference_window(len(z), sigma_span) @ z)
