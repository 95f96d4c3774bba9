"""DCK's sums within a short window, `LANES` pairs of joints and coordinates side by side, compiled by Numba.

    X[z,p,q] = Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s) z_q(s')

over frames up to where the window has fallen below the tolerance. Pivots are evenly spaced, so that one exponential
serves them all: φ_{k+1}(u) = φ_k(u) · e^{2uΔ/σ²} · const, where e^{2uΔ/σ²} splits into a factor a frame.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from kerneton import _lanes, _simd
from kerneton._lanes import _EXP
from kerneton._simd import LANES, aligned, exp2_whole, full, jit, load, rint, source_number, store, where
from kerneton.feature_maps import pivot_scale, pivots

_LOG2E = math.log2(math.e)
_MAX_EXPONENT = 600.0  # beyond it factors of Gaussians leave the range of float64


def window_sums(x, z, pairs, *, sigma, n_pivots, reach, sigma_span, tol):
    """One recording, x (T, J, 3) and z (T, P) → (n_pairs, 3Z, P, P) in float64; None where it is out of range.

    The window is cut where it has fallen to ``tol``.
    """
    T = len(x)
    extent = float(x.max() - x.min()) if x.size else 0.0
    if ((extent + reach) / sigma) ** 2 > _MAX_EXPONENT:
        return None
    P, blocks = z.shape[1], -(-z.shape[1] // 3)
    times = np.zeros((T, 3 * blocks))
    times[:, :P] = z
    band = min(T - 1, math.ceil(sigma_span * math.sqrt(2 * math.log(1 / tol))))
    window = np.exp(-(np.arange(band + 1) ** 2) / (2 * sigma_span**2))
    zeta = pivots(n_pivots, -reach, reach)
    spacing = 2 * reach / max(n_pivots - 1, 1)
    steps = np.exp(-np.diff(zeta**2) / sigma**2)
    n = 3 * len(pairs)
    n_groups = -(-n // LANES)
    # Lanes are pairs and coordinates: (T, 3, n_pairs) padded to whole groups.
    sides = np.zeros((2, T, n_groups * LANES))
    rows = np.ascontiguousarray(x.transpose(0, 2, 1), dtype=np.float64)
    for side, k in zip(sides, (0, 1), strict=True):
        side[:, :n] = rows[:, :, pairs[:, k]].reshape(T, n)
    growth = np.exp(sides * (2 * spacing / sigma**2 * np.array([1.0, -1.0])[:, None, None]))
    totals = aligned(n_groups * n_pivots * 3 * blocks * 3 * blocks, np.float64)
    totals[:] = 0
    room = aligned((2 * band + 1) * n_pivots + n_pivots * 3 * blocks + 4 * T, np.float64)
    _kernel(sides, growth, times, window, zeta[0], 1 / sigma**2, steps, totals, room)
    totals = totals.reshape(n_groups, n_pivots, 3 * blocks, 3 * blocks, LANES)[:, :, :P, :P]
    totals = np.moveaxis(totals, -1, 1).reshape(n_groups * LANES, n_pivots, P, P)[:n]
    scale = pivot_scale(n_pivots, -reach, reach, sigma)
    return (
        np.moveaxis(totals.reshape(3, len(pairs), n_pivots, P, P), 0, 1).reshape(len(pairs), -1, P, P) * scale
    )


@jit
def _exp(x):
    """e^x for x ≤ 0, to some 1e-15."""
    log2 = x * _LOG2E
    log2 = where(log2 > -1000.0, log2, full(-1000.0))
    whole = rint(log2)
    rest = log2 - whole
    series = full(_EXP[0])
    for k in range(1, len(_EXP)):
        series = series * rest + _EXP[k]
    return series * exp2_whole(whole)


def _compile(sources):
    @njit(nogil=True, cache=True, error_model="numpy")
    def kernel(sides, growth, times, window, first, inverse, steps, totals, room):
        if not sources:
            return
        _, T, width = sides.shape
        band, n_pivots, P = len(window) - 1, len(steps) + 1, times.shape[1]
        flat, flat_growth = sides.reshape(-1), growth.reshape(-1)
        n_phi = (2 * band + 1) * n_pivots
        phi, sums, held = room[: n_phi * LANES], room[n_phi * LANES :], room[(n_phi + n_pivots * P) * LANES :]
        for group in range(width // LANES):
            # What the lanes hold, copied so that a vector is aligned: x_i, x_i', and their factors.
            for s in range(T):
                for lane in range(LANES):
                    at = s * width + group * LANES + lane
                    held[s * LANES + lane] = flat[at] - first
                    held[(T + s) * LANES + lane] = flat[T * width + at]
                    held[(2 * T + s) * LANES + lane] = flat_growth[at]
                    held[(3 * T + s) * LANES + lane] = flat_growth[T * width + at]
            for s in range(T):
                low, high = max(0, s - band), min(T, s + band + 1)
                a, growth_a = load(held, s), load(held, 2 * T + s)
                for t in range(low, high):
                    gap = a - load(held, T + t)
                    value = _exp(gap * gap * (-inverse)) * (window[abs(s - t)] if s != t else 0.0)
                    step = growth_a * load(held, 3 * T + t)
                    store(phi, t - low, value)
                    for k in range(1, n_pivots):
                        value = value * step * steps[k - 1]
                        store(phi, k * (2 * band + 1) + t - low, value)
                for k in range(n_pivots):
                    start = k * (2 * band + 1)
                    for q in range(0, P, 3):
                        x0 = x1 = x2 = full(0.0)
                        for t in range(low, high):
                            value = load(phi, start + t - low)
                            x0 = x0 + value * times[t, q]
                            x1 = x1 + value * times[t, q + 1]
                            x2 = x2 + value * times[t, q + 2]
                        store(sums, k * P + q, x0)
                        store(sums, k * P + q + 1, x1)
                        store(sums, k * P + q + 2, x2)
                for k in range(n_pivots):
                    for p in range(P):
                        at = ((group * n_pivots + k) * P + p) * P
                        for q in range(P):
                            store(totals, at + q, load(totals, at + q) + load(sums, k * P + q) * times[s, p])

    return kernel


_kernel = _compile(source_number(_simd, _lanes))
