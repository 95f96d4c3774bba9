"""Sums over pairs of frames of mapped displacements, the main cost of DCK: direct and by harmonics.

Both compute, for pairs of joints (i, i'),

    X[z,p,q] = Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s/T) z_q(s'/T)

the direct sum in O(T²), the harmonics in O(T).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from kerneton.exceptions import DataError
from kerneton.kernels.tensors import gaussian, gaussian_features, pivot_scale, pivots
from kerneton.machine.arrays import (
    as_dtype_of,
    asarray_like,
    index_like,
    is_torch,
    namespace_of,
    to_numpy,
)

MAX_HARMONICS = 256
_DENSE_WINDOW = 160  # frames up to which a dense window matrix is faster than the Fourier transform
_FEW_FRAMES = 8
_AT_ONCE = 100  # frames, so that all that is computed for them fits into the processor's cache


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
    """The sum as in the formula: x (B, T, J, 3), z (B, T, Z₃) zero where padded → (B, n_pairs, 3Z,
    Z₃, Z₃).

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
        phi = gaussian_features(
            steps, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach
        ).reshape(B, T, T, 3 * n_pivots)
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

    and e^{iωk(a-b)} splits into one factor per frame, so that all pivots share the moments

        M_k[(i,p),(i',q)] = Σ_ss' B_ss' (e^{iωk x_is} z_p(s)) conj(e^{iωk x_i's'} z_q(s'))
        B = G_σ4 - I

    Without a window, M_k is the product of two sums over frames minus the terms s = s', which need
    no harmonics. ``extent`` bounds every displacement; pivots lie on [-reach, reach].

    >>> x, z = np.random.default_rng(0).uniform(size=(1, 9, 4, 3)), np.ones((1, 9, 2))
    >>> same = dict(sigma=0.6, n_pivots=5, sigma_span=4.0)
    >>> np.allclose(
    ...     harmonic_sums(x, z, np.array([[0, 1]]), extent=1.0, tol=1e-8, **same),
    ...     direct_sums(x, z, np.array([[0, 1]]), **same),
    ...     rtol=1e-6,
    ... )
    True
    """
    period, n_harmonics = plan_harmonics(extent, sigma, tol, reach)
    omegas = 2 * math.pi / period * np.arange(n_harmonics + 1)
    weights = _pivot_weights(omegas, period, sigma, n_pivots, reach)  # (Z, K)

    def sums(x: Any, z: Any) -> Any:
        if sigma_span is not None:
            return _pairs(_window_sums(x, z, omegas, weights, sigma_span), pairs)
        at_once = x.shape[1] if is_torch(x) else _AT_ONCE
        parts = [slice(start, start + at_once) for start in range(0, x.shape[1], at_once)]
        moments = sum(_moments(x[:, part], z[:, part], omegas) for part in parts)
        steps = x[:, :, pairs[:, 0]] - x[:, :, pairs[:, 1]]
        mapped = partial(gaussian_features, sigma=sigma, n_pivots=n_pivots, low=-reach, high=reach)
        same_time = sum(_same_time(mapped(steps[:, part]), z[:, part]) for part in parts)
        return _pairs(_all_sums(moments, weights), pairs) - same_time

    def exact(x: Any, z: Any) -> Any:
        if x.shape[1] > _FEW_FRAMES:
            return sums(x, z)
        one = namespace_of(x).ones(1, dtype=namespace_of(x).float64)
        # The terms s = s' are larger than the others and must cancel exactly.
        return as_dtype_of(sums(as_dtype_of(x, one), as_dtype_of(z, one)), x)

    if is_torch(x):
        result = exact(x, z)
    else:  # one recording at a time, without padding: it fits into the cache, and results do not depend on the batch
        ends = x.shape[1] - np.argmax(z.any(axis=2)[:, ::-1], axis=1)
        result = np.concatenate(
            [exact(x[i : i + 1, :n], z[i : i + 1, :n]) for i, n in enumerate(ends)]
        )
    # One frame has no pair: exactly zero, since the power would enlarge rounding errors.
    return result * (x.shape[1] > 1)


def _pivot_weights(
    omegas: np.ndarray, period: float, sigma: float, n_pivots: int, reach: float
) -> np.ndarray:
    """√c g_k e^{-iωkζ}, (Z, K), doubled for k > 0, since negative k are not summed."""
    g = sigma * math.sqrt(math.pi) / period * np.exp(-((omegas * sigma) ** 2) / 4)
    g[1:] *= 2
    phases = np.exp(-1j * np.outer(pivots(n_pivots, -reach, reach), omegas))
    return pivot_scale(n_pivots, -reach, reach, sigma) * g * phases


def _moments(x: Any, z: Any, omegas: np.ndarray) -> Any:
    """S_ip = Σ_s e^{iω_k x_is} z_p(s), cosines and sines, (B, 3, 2, K, J, Z₃)."""
    xp, (B, T, J, _) = namespace_of(x), x.shape
    waves = _waves(xp.moveaxis(x, 1, 3).swapaxes(1, 2), omegas)  # (B, 3, K, J, T)
    waves = xp.stack([waves.real, waves.imag], 2)
    return (waves.reshape(B, -1, T) @ z).reshape(B, 3, 2, len(omegas), J, z.shape[2])


def _all_sums(S: Any, weights: np.ndarray) -> Any:
    """Over all pairs of frames, s = s' included: Re Σ_k w_k S_ip conj(S_i'q); (B, 3Z, J, Z₃, J,
    Z₃).
    """
    xp, (B, _, _, K, J, P) = namespace_of(S), S.shape
    S = S.reshape(B, 3, 1, 2, K, J * P)
    c, s = S[:, :, :, 0], S[:, :, :, 1]
    real, imaginary = (asarray_like(w, S)[..., None] for w in (weights.real, weights.imag))
    turned = xp.stack([c * real + s * imaginary, s * real - c * imaginary], 3)  # (B, 3, Z, 2, K, N)
    sums = S.reshape(B, 3, 1, 2 * K, -1).swapaxes(-1, -2) @ turned.reshape(B, 3, -1, 2 * K, J * P)
    return sums.reshape(B, -1, J, P, J, P)


def _waves(x: Any, omegas: np.ndarray) -> Any:
    """e^{iω_k x}, (B, 3, K, ...) for x (B, 3, ...): powers of the first wave, since ω_k = k ω_1,
    with one cosine and sine for all.

    >>> x = np.linspace(-2, 2, 12).reshape(1, 3, 4)
    >>> np.allclose(_waves(x, np.arange(6) / 2)[:, :, 5], np.exp(2.5j * x), rtol=1e-14)
    True
    """
    xp, angles = namespace_of(x), (x * float(omegas[min(1, len(omegas) - 1)]))[:, :, None]
    step = xp.cos(angles) + 1j * xp.sin(angles)
    waves = xp.ones_like(step)
    while (n := waves.shape[2]) < len(omegas):
        waves = xp.concatenate([waves, waves[:, :, : len(omegas) - n] * step], 2)
        step = step * step
    return waves


def _same_time(phi: Any, z: Any) -> Any:
    """Σ_s φ(s) z_p(s) z_q(s); phi (B, T, n_pairs, 3, Z), z (B, T, Z₃) → (B, n_pairs, 3Z, Z₃,
    Z₃).
    """
    B, T, n_pairs, _, Z = phi.shape
    squares = (z[..., :, None] * z[..., None, :]).reshape(B, T, -1)
    return (phi.reshape(B, T, -1).swapaxes(1, 2) @ squares).reshape(
        B, n_pairs, 3 * Z, z.shape[2], -1
    )


def _window_sums(x: Any, z: Any, omegas: np.ndarray, weights: np.ndarray, sigma_span: float) -> Any:
    """Over pairs of different frames in a window: Re Σ_k w_k M_k; (B, 3Z, J, Z₃, J, Z₃)."""
    xp = namespace_of(x)
    B, T, J, _ = x.shape
    K, N = len(omegas), J * z.shape[2]
    waves = _waves(xp.moveaxis(x, 3, 1), omegas)  # (B, 3, K, T, J)
    F = (waves[..., None] * z[:, None, None, :, None, :]).reshape(B, 3, K, T, N)
    G = _windowed(xp.stack([F.real, -F.imag], -1).reshape(B, 3, K, T, 2 * N), sigma_span)
    G = G.reshape(B, 3, K, T, N, 2)
    G = G[..., 0] + 1j * G[..., 1]
    moments = (F.swapaxes(-1, -2) @ G).reshape(B, 3, K, N * N)
    sums = (asarray_like(weights, F) @ moments).real
    return sums.reshape(B, -1, J, z.shape[2], J, z.shape[2])


def _pairs(sums: Any, pairs: np.ndarray) -> Any:
    """(B, 3Z, J, Z₃, J, Z₃) → (B, n_pairs, 3Z, Z₃, Z₃)."""
    return namespace_of(sums).moveaxis(sums[:, :, pairs[:, 0], :, pairs[:, 1], :], 0, 1)


def _windowed(F: Any, sigma_span: float) -> Any:
    """(G_σ4 - I) F along the frames, the second to last axis."""
    xp, T = namespace_of(F), F.shape[-2]
    if T <= _DENSE_WINDOW:
        return asarray_like(span_window(T, sigma_span), F) @ F
    lags = gaussian(np.fft.fftfreq(2 * T, 1 / (2 * T)), sigma_span)
    lags[0] = 0
    response = asarray_like(np.fft.rfft(lags).real, F)[:, None]
    spectrum = xp.fft.rfft(F, 2 * T, -2) * response  # zero-padded to 2T: no wrap-around
    out = xp.fft.irfft(spectrum, 2 * T, -2)[..., :T, :]
    # NumPy 1 transforms in double precision
    return out if is_torch(F) else out.astype(F.dtype, copy=False)


def span_window(n_frames: int, sigma_span: float | None) -> np.ndarray:
    """B = G_σ4(s-s') without its diagonal, (T, T); ones without a window.

    >>> span_window(2, None).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    steps = np.subtract.outer(np.arange(n_frames), np.arange(n_frames)).astype(float)
    window = np.ones_like(steps) if sigma_span is None else gaussian(steps, sigma_span)
    np.fill_diagonal(window, 0)
    return window


def plan_harmonics(
    extent: float, sigma: float, tol: float, reach: float = 1.0
) -> tuple[float, int]:
    """Period and number of harmonics that keep both the wrapped and the cut-off tail below the
    tolerance.

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


def centred(x: Any, n_frames: Any) -> Any:
    """Recordings centred on the origin, padding at the origin; (B, T, J, 3).

    Displacements do not depend on the position of the body. Around the origin angles stay small,
    and padding is within the extent of every recording.
    """
    xp = namespace_of(x)
    held = (index_like(np.arange(x.shape[1]), x) < n_frames[:, None])[:, :, None, None]
    # Frames, then joints: six times as fast as both at once.
    low = xp.amin(xp.amin(xp.where(held, x, xp.full_like(x, np.inf)), 1), 1)
    high = xp.amax(xp.amax(xp.where(held, x, xp.full_like(x, -np.inf)), 1), 1)
    return xp.where(held, x - (low / 2 + high / 2)[:, None, None], xp.zeros_like(x))


def extents_of(x: Any) -> np.ndarray:
    """An upper bound of the displacements in recordings around the origin, rounded up to a multiple
    of 1/4; (B, T, J, 3) → (B,).
    """
    xp = namespace_of(x)
    spans = 2 * to_numpy(xp.amax(xp.abs(x), (1, 2, 3))).astype(float)
    return np.ceil(spans * 4 + 1e-9) / 4
