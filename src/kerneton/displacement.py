"""Sums over pairs of frames of mapped displacements: DCK's hot mathematics, direct and by harmonics.

Both compute, for pairs of joints (i, i'),

    X[z,p,q] = Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s/T) z_q(s'/T)

the direct sum in O(T²), the harmonics in O(T).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kerneton._array import asarray_like, is_torch, namespace_of
from kerneton.exceptions import DataError
from kerneton.feature_maps import gaussian, gaussian_features, pivot_scale, pivots

MAX_HARMONICS = 256
_DENSE_WINDOW = 160  # frames up to which a dense window matrix beats the Fourier transform


def direct_sums(
    x: Any,
    z: Any,
    pairs: np.ndarray,
    *,
    sigma: float,
    n_pivots: int,
    sigma_span: float | None,
    reach: float = 1.0,
) -> Any:
    """The sum as it is written: x (B, T, J, 3), z (B, T, Z₃) zero where padded → (B, n_pairs, 3Z, Z₃, Z₃).

    >>> x, z = np.random.default_rng(0).normal(size=(1, 9, 4, 3)), np.ones((1, 9, 2))
    >>> direct_sums(x, z, np.array([[0, 1]]), sigma=0.6, n_pivots=5, sigma_span=None).shape
    (1, 1, 15, 2, 2)
    """
    xp = namespace_of(x)
    B, T = x.shape[:2]
    window = asarray_like(span_window(T, sigma_span), x)
    columns = []
    for i, k in pairs:
        steps = x[:, :, None, i] - x[:, None, :, k]  # (B, T, T, 3)
        phi = gaussian_features(steps, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach).reshape(
            B, T, T, 3 * n_pivots
        )
        weighted = xp.moveaxis(phi * window[:, :, None], -1, 1)  # (B, 3Z, T, T)
        columns.append(z.swapaxes(1, 2)[:, None] @ weighted @ z[:, None])
    return xp.stack(columns, 1)


def harmonic_sums(
    x: Any,
    z: Any,
    pairs: np.ndarray,
    *,
    sigma: float,
    n_pivots: int,
    sigma_span: float | None,
    extent: float,
    reach: float = 1.0,
    tol: float = 1e-5,
) -> Any:
    """The same sum in time linear in the frames, to a relative error of about ``tol``.

    On a period P that covers displacement, pivot and the Gaussian's tail,

        exp(-(d-ζ)²/σ²) = Σ_k g_k e^{iωk(d-ζ)},   ω = 2π/P,   g_k = σ√π/P exp(-(ωkσ)²/4)

    and e^{iωk(a-b)} splits into a factor a frame, so that all pivots share the moments

        M_k[(i,p),(i',q)] = Σ_ss' B_ss' (e^{iωk x_is} z_p(s)) conj(e^{iωk x_i's'} z_q(s')),   B = G_σ4 - I

    ``extent`` bounds every displacement; pivots lie on [-reach, reach].

    >>> x, z = np.random.default_rng(0).uniform(size=(1, 9, 4, 3)), np.ones((1, 9, 2))
    >>> same = dict(sigma=0.6, n_pivots=5, sigma_span=4.0)
    >>> np.allclose(harmonic_sums(x, z, np.array([[0, 1]]), extent=1.0, tol=1e-8, **same),
    ...             direct_sums(x, z, np.array([[0, 1]]), **same), rtol=1e-6)
    True
    """
    xp = namespace_of(x)
    B, T, J, _ = x.shape
    N = J * z.shape[2]
    period, n_harmonics = plan_harmonics(extent, sigma, tol, reach)
    angle = xp.moveaxis(x * (2 * math.pi / period), 3, 1)[:, :, None]  # (B, 3, 1, T, J)
    angle = angle * asarray_like(np.arange(1, n_harmonics + 1), x)[:, None, None]
    waves = xp.stack([xp.cos(angle), xp.sin(angle)], -2)  # (B, 3, K, T, 2, J)
    F = (waves[..., None] * z[:, None, None, :, None, None, :]).reshape(B, 3, n_harmonics, T, 2 * N)
    moments = F.swapaxes(-1, -2) @ _windowed(F, sigma_span)
    moments = moments.reshape(B, 3, n_harmonics, 2, N, 2, N)
    real = moments[..., 0, :, 0, :] + moments[..., 1, :, 1, :]
    imaginary = moments[..., 1, :, 0, :] - moments[..., 0, :, 1, :]
    both = xp.concatenate([real, imaginary], 2).reshape(B, 3, 2 * n_harmonics, N * N)
    constant, waves_to_pivots = _synthesis(period, n_harmonics, sigma, n_pivots, reach)
    sums = asarray_like(waves_to_pivots, x) @ both  # (B, 3, Z, N²)
    sums = sums.reshape(B, 3 * n_pivots, J, -1, J, z.shape[2])
    chosen = xp.moveaxis(sums[:, :, pairs[:, 0], :, pairs[:, 1], :], 0, 1)  # (B, n_pairs, 3Z, Z₃, Z₃)
    return chosen + constant * (z.swapaxes(1, 2) @ _windowed(z, sigma_span))[:, None, None]


def _synthesis(
    period: float, n_harmonics: int, sigma: float, n_pivots: int, reach: float
) -> tuple[float, np.ndarray]:
    """√c g_0 and the matrix (Z, 2K) from real and imaginary moments to pivots."""
    omega, k = 2 * math.pi / period, np.arange(1, n_harmonics + 1)
    constant = pivot_scale(n_pivots, -reach, reach, sigma) * sigma * math.sqrt(math.pi) / period
    g = 2 * constant * np.exp(-((omega * k * sigma) ** 2) / 4)
    phase = omega * np.outer(pivots(n_pivots, -reach, reach), k)
    return constant, np.concatenate([g * np.cos(phase), g * np.sin(phase)], axis=1)


def _windowed(F: Any, sigma_span: float | None) -> Any:
    """(G_σ4 - I) F along the frames, the second to last axis."""
    if sigma_span is None:
        return F.sum(-2)[..., None, :] - F
    xp, T = namespace_of(F), F.shape[-2]
    if T <= _DENSE_WINDOW:
        return asarray_like(span_window(T, sigma_span), F) @ F
    lags = gaussian(np.fft.fftfreq(2 * T, 1 / (2 * T)), sigma_span)
    lags[0] = 0
    response = asarray_like(np.fft.rfft(lags).real, F)[:, None]
    spectrum = xp.fft.rfft(F, 2 * T, -2) * response  # zero-padded to 2T: no wrap-around
    out = xp.fft.irfft(spectrum, 2 * T, -2)[..., :T, :]
    return out if is_torch(F) else out.astype(F.dtype, copy=False)  # NumPy 1 transforms in double precision


def span_window(n_frames: int, sigma_span: float | None) -> np.ndarray:
    """B = G_σ4(s-s') without its diagonal, (T, T); all ones where there is no window.

    >>> span_window(2, None).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    steps = np.subtract.outer(np.arange(n_frames), np.arange(n_frames)).astype(float)
    window = np.ones_like(steps) if sigma_span is None else gaussian(steps, sigma_span)
    np.fill_diagonal(window, 0)
    return window


def plan_harmonics(extent: float, sigma: float, tol: float, reach: float = 1.0) -> tuple[float, int]:
    """Period and number of harmonics that keep both the wrapped and the cut-off tail under the tolerance.

    >>> plan_harmonics(1.5, 0.6, 1e-5)[1]
    9
    """
    tail = math.sqrt(math.log(4 / tol))
    period = extent + reach + sigma * tail
    n_harmonics = math.ceil(period * tail / (math.pi * sigma))
    if n_harmonics > MAX_HARMONICS:
        raise DataError(
            f"displacements of up to {extent:g} with sigma_joint={sigma:g} would need {n_harmonics} harmonics "
            f"(at most {MAX_HARMONICS}): are the coordinates in millimetres? DCK expects metres"
        )
    return period, n_harmonics
