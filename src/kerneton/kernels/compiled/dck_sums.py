"""DCK's sums within a short window, `LANES` pairs of joints and coordinates side by side, compiled by Numba.

    X[z,p,q] = Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s) z_q(s')

over frames up to where the window has fallen below the tolerance. Pivots are evenly spaced, so that one exponential
serves them all: φ_{k+1}(u) = φ_k(u) · e^{2uΔ/σ²} · const, where e^{2uΔ/σ²} splits into a factor a frame.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from kerneton.kernels.compiled.lanes import exp2
from kerneton.kernels.compiled.simd import (
    LANES,
    aligned,
    full,
    jit,
    like,
    load,
    store,
    where,
)
from kerneton.kernels.vectors import pivot_scale, pivots
from kerneton.machine.compiled.cache import cached_jit, source_number

_LOG2E = math.log2(math.e)
_MAX_EXPONENT = (
    600.0  # beyond it factors of Gaussians leave the range of float64, and each pivot has an exponential
)


def window_sums(x, z, pairs, *, sigma, n_pivots, reach, sigma_span, tol):
    """x (B, T, J, 3) and z (B, T, P), zero where padded → (B, n_pairs, 3Z, P, P) in the precision of x.

    φ is found in float64 and summed in the precision of x. The window is cut where what lies beyond is less than ``tol`` of
    the sum with every φ at its largest, for every p and q.
    """
    (B, T), P, n_pairs = x.shape[:2], z.shape[2], len(pairs)
    padded = -(-P // 3) * 3
    times = np.zeros((B, T, padded), x.dtype)
    times[:, :, :P] = z
    lengths = T - np.argmax(z.any(axis=2)[:, ::-1], axis=1)
    band = min(T - 1, math.ceil(sigma_span * math.sqrt(6 * math.log(1 / tol))))  # more than is ever needed
    window = np.exp(-(np.arange(band + 1) ** 2) / (2 * sigma_span**2))
    window[0] = 0  # a frame makes no pair with itself
    zeta = pivots(n_pivots, -reach, reach)
    spacing = 2 * reach / max(n_pivots - 1, 1)
    steps = np.exp(np.minimum(-np.diff(zeta**2) / sigma**2, _MAX_EXPONENT))  # larger ones are not used
    extents = x.max((1, 2, 3)) - x.min((1, 2, 3))
    wide = ((extents + reach) / sigma) ** 2 > _MAX_EXPONENT
    rate = np.where(wide, 0, 2 * spacing / sigma**2)[:, None, None, None]
    growth = np.exp(x * rate)
    out = np.empty((B, n_pairs, 3, n_pivots, P, P), x.dtype)
    doubles = aligned(4 * T, np.float64)
    own = aligned(n_pivots * (2 * band + 1 + padded + padded * padded), x.dtype)
    scale = pivot_scale(n_pivots, -reach, reach, sigma)
    shape = (zeta[0], spacing, 1 / sigma**2, scale)
    for b in range(B):
        n = lengths[b]
        given = (np.float64(x[b, :n]), growth[b, :n], times[b, :n], pairs, window, steps, shape, wide[b], tol)
        _kernel(*given, doubles, own, out[b])
    return out.reshape(B, n_pairs, 3 * n_pivots, P, P)


@jit
def _exp(x):
    """e^x for x ≤ 0, to some 1e-15."""
    log2 = x * _LOG2E
    return exp2(where(log2 > -1000.0, log2, full(-1000.0)))


@jit
def _reach(times, window, tol):
    """The most distant frames that count: beyond, Σ G_σ4(s-t) z_p(s) z_q(t) is less than a fiftieth of tol of all of it.

    The power that follows lifts what is small, so that much is left of the tolerance.

    Not only the window decides: where p and q lie far apart, so do most frames that z_p and z_q both see.
    """
    T, P = times.shape
    n_lags = min(T, len(window))
    sums = np.zeros((n_lags, P, P))
    for lag in range(1, n_lags):
        for s in range(T - lag):
            for p in range(P):
                weight = times[s, p] * window[lag]
                for q in range(P):
                    sums[lag, p, q] += weight * times[s + lag, q]
    total = sums.sum(0)
    total = (total + total.T) * (0.02 * tol)
    tail = np.zeros((P, P))
    for lag in range(n_lags - 1, 0, -1):
        tail += sums[lag] + sums[lag].T
        if (tail > total).any():
            return lag
    return 0


@jit
def _hold(x, growth, pairs, group, held):
    """What the lanes of a group hold at every frame: x_i, x_i', and their factors of e^{2uΔ/σ²}.

    Problem n is coordinate n // n_pairs of pair n % n_pairs; lanes beyond the last repeat it.
    """
    T, n_pairs = len(x), len(pairs)
    for lane in range(LANES):
        n = min(group * LANES + lane, 3 * n_pairs - 1)
        axis, i, j = n // n_pairs, pairs[n % n_pairs, 0], pairs[n % n_pairs, 1]
        for s in range(T):
            held[s * LANES + lane] = x[s, i, axis]
            held[(T + s) * LANES + lane] = x[s, j, axis]
            held[(2 * T + s) * LANES + lane] = growth[s, i, axis]
            held[(3 * T + s) * LANES + lane] = 1.0 / growth[s, j, axis]


@jit
def _map(held, T, s, low, high, window, steps, first, spacing, inverse, wide, phi, room):
    """G_σ4(s-t) φ_k(x_is - x_i't) for frames t, each k `room` vectors after the last."""
    a, factor = load(held, s), load(held, 2 * T + s)
    for t in range(low, high):
        gap = a - load(held, T + t) - first
        weight = window[abs(s - t)]
        value = _exp(gap * gap * (-inverse)) * weight
        store(phi, t - low, like(phi, value))
        if wide:
            for k in range(1, len(steps) + 1):
                rest = gap - k * spacing
                store(phi, k * room + t - low, like(phi, _exp(rest * rest * (-inverse)) * weight))
        else:
            step = factor * load(held, 3 * T + t)
            for k in range(1, len(steps) + 1):
                value = value * step * steps[k - 1]
                store(phi, k * room + t - low, like(phi, value))


@jit
def _add(phi, room, n_pivots, times, s, low, high, sums, totals):
    """totals[k,p,q] += z_p(s) Σ_t φ_k z_q(t), three q at a time."""
    P = times.shape[1]
    zero = like(phi, full(0.0))
    for k in range(n_pivots):
        for q in range(0, P, 3):
            x0 = x1 = x2 = zero
            for t in range(low, high):
                value = load(phi, k * room + t - low)
                x0 = x0 + value * times[t, q]
                x1 = x1 + value * times[t, q + 1]
                x2 = x2 + value * times[t, q + 2]
            store(sums, q, x0)
            store(sums, q + 1, x1)
            store(sums, q + 2, x2)
        for p in range(P):
            at, weight = (k * P + p) * P, times[s, p]
            for q in range(0, P, 3):
                x0 = load(totals, at + q) + load(sums, q) * weight
                x1 = load(totals, at + q + 1) + load(sums, q + 1) * weight
                x2 = load(totals, at + q + 2) + load(sums, q + 2) * weight
                store(totals, at + q, x0)
                store(totals, at + q + 1, x1)
                store(totals, at + q + 2, x2)


def _compile(sources):
    @cached_jit
    def kernel(x, growth, times, pairs, window, steps, shape, wide, tol, held, own, out):
        """One recording; ``shape`` holds the first pivot, their spacing, 1/σ² and their scale."""
        if not sources:
            return
        first, spacing, inverse, scale = shape
        T, P, n_pivots, room = len(x), times.shape[1], len(steps) + 1, 2 * len(window) - 1
        n_pairs, n_times = len(pairs), out.shape[-1]
        phi, sums = own[: n_pivots * room * LANES], own[n_pivots * room * LANES :]
        totals = sums[P * LANES :]
        band = _reach(times, window, tol)
        for group in range((3 * n_pairs + LANES - 1) // LANES):
            _hold(x, growth, pairs, group, held)
            for k in range(n_pivots * P * P * LANES):
                totals[k] = 0
            for s in range(T):
                low, high = max(0, s - band), min(T, s + band + 1)
                _map(held, T, s, low, high, window, steps, first, spacing, inverse, wide, phi, room)
                _add(phi, room, n_pivots, times, s, low, high, sums, totals)
            for lane in range(min(LANES, 3 * n_pairs - group * LANES)):
                n = group * LANES + lane
                for k in range(n_pivots):
                    for p in range(n_times):
                        for q in range(n_times):
                            value = totals[((k * P + p) * P + q) * LANES + lane]
                            out[n % n_pairs, n // n_pairs, k, p, q] = value * scale

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
