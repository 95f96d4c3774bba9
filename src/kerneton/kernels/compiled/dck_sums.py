"""DCK's sums within a short window, `LANES` pairs of joints and coordinates side by side, compiled by Numba.

    X[z,p,q] = Σ_{s≠s'} G_σ4(s-s') φ_z(x_is - x_i's') z_p(s) z_q(s')

over the frames in which the window is above the tolerance. Pivots are evenly spaced, so that one exponential, that of the middle pivot, is
enough for all: φ_{k+1}(u) = φ_k(u) · e^{2uΔ/σ²} · const, where e^{2uΔ/σ²} splits into one factor per frame. For float32 data these factors
are float32 if no coordinates are so far apart that a factor would become zero.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
from numba.extending import overload

from kerneton.kernels.compiled.lanes import exp2, exp2_single
from kerneton.kernels.compiled.simd import (
    _DOUBLES,
    LANES,
    aligned,
    full,
    jit,
    like,
    load,
    store,
    where,
)
from kerneton.kernels.tensors import pivot_scale, pivots
from kerneton.machine.compiled.cache import cached_jit, source_number

_LOG2E = math.log2(math.e)
_MAX_EXPONENT = (
    600.0  # beyond it the factors leave the range of float64, and every pivot needs its own exponential
)
_MAX_SINGLE = 80.0  # the same for float32, beyond which they are float64


def window_sums(x, z, pairs, *, sigma, n_pivots, reach, sigma_span, tol):
    """x (B, T, J, 3) and z (B, T, P), zero where padded → (B, n_pairs, 3Z, P, P) in the precision of x.

    φ is summed in the precision of x. The window is cut off where the rest is less than ``tol`` of the sum with every φ at its maximum, for
    every p and q.
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
    middle = n_pivots // 2
    rate = 2 * spacing / sigma**2
    # Constants from the middle pivot to those above and below it: e^{∓(ζ_k² - ζ_{k+1}²)/σ²} without the rate.
    steps = np.exp(np.minimum(-np.diff(zeta**2) / sigma**2, _MAX_EXPONENT))  # larger ones are not used
    steps[:middle] = np.exp(np.minimum(np.diff(zeta**2)[:middle] / sigma**2, _MAX_EXPONENT))
    extents = (np.float64(x.max(1).max(1)) - x.min(1).min(1)).max(axis=1)  # of any one coordinate
    wide = ((extents + reach) / sigma) ** 2 > _MAX_EXPONENT
    largest = np.maximum(((extents + abs(zeta[middle])) / sigma) ** 2, extents * rate)
    single = (x.dtype == np.float32) & (largest < _MAX_SINGLE)
    out = np.empty((B, n_pairs, 3, n_pivots, P, P), x.dtype)
    own = aligned(n_pivots * (2 * band + 1 + padded + padded * padded), x.dtype)
    shape = (zeta[middle], spacing, 1 / sigma**2, pivot_scale(n_pivots, -reach, reach, sigma))
    for dtype in (np.float32, np.float64):
        rows = np.flatnonzero(single == (dtype is np.float32)).tolist()
        if not rows:
            continue
        here, held = x[rows].astype(dtype), aligned(6 * T, dtype)
        slopes = here * np.where(wide[rows], 0, rate).astype(dtype)[:, None, None, None]
        factors = np.stack([np.exp(slopes), np.exp(-slopes)], axis=1)  # (B, 2, T, J, 3)
        for i, b in enumerate(rows):
            n = lengths[b]
            z_b = times[b, :n]
            span = _reach(z_b.tobytes(), n, x.dtype.name, window.tobytes(), tol)
            given = here[i, :n], factors[i, :, :n], z_b, pairs, span, window, steps, middle, shape, wide[b]
            _kernel(*given, held, own, out[b])
    return out.reshape(B, n_pairs, 3 * n_pivots, P, P)


def _exp(x):
    """e^x for x ≤ 0 with an error of about 1e-15, or 1e-7 in float32; results below the smallest number are nearly zero."""


@overload(_exp, jit_options={"nogil": True, "error_model": "numpy"})
def _exp_of(x):
    if x.element == _DOUBLES.element:

        def double(x):
            log2 = x * _LOG2E
            return exp2(where(log2 > -1000.0, log2, full(-1000.0)))

        return double

    def single(x):
        log2, zero = x * _LOG2E, x * 0.0
        return exp2_single(where(log2 > -126.0, log2, zero - 126.0), zero)

    return single


@functools.lru_cache(maxsize=4096)  # shared by recordings of the same length
def _reach(times, n, dtype, window, tol):
    """The largest distance of frames that counts: beyond it, Σ G_σ4(s-t) z_p(s) z_q(t) is less than tol/50 of the whole sum.

    The power that follows enlarges small values; tol/50 leaves room for that.

    This depends on more than the window: if p and q are far apart, so are the frames in which both z_p and z_q are large.
    """
    times, window = np.frombuffer(times, dtype).reshape(n, -1).astype(float), np.frombuffer(window)
    sums = np.zeros((min(n, len(window)), times.shape[1], times.shape[1]))
    for lag in range(1, len(sums)):
        product = window[lag] * (times[:-lag].T @ times[lag:])
        sums[lag] = product + product.T
    tails = np.cumsum(sums[:0:-1], axis=0)  # from the largest distance on; they only grow
    return int((tails > 0.02 * tol * sums.sum(0)).any(axis=(1, 2)).sum())


@jit
def _hold(x, factors, pairs, group, held):
    """Values of the lanes of a group at every frame: x_i, x_i', and their factors of e^{2uΔ/σ²} and of its inverse.

    Problem n is coordinate n // n_pairs of pair n % n_pairs; lanes beyond the last repeat it.
    """
    T, n_pairs = len(x), len(pairs)
    for lane in range(LANES):
        n = min(group * LANES + lane, 3 * n_pairs - 1)
        axis, i, j = n // n_pairs, pairs[n % n_pairs, 0], pairs[n % n_pairs, 1]
        for s in range(T):
            held[s * LANES + lane] = x[s, i, axis]
            held[(T + s) * LANES + lane] = x[s, j, axis]
            held[(2 * T + s) * LANES + lane] = factors[0, s, i, axis]
            held[(3 * T + s) * LANES + lane] = factors[1, s, j, axis]
            held[(4 * T + s) * LANES + lane] = factors[1, s, i, axis]
            held[(5 * T + s) * LANES + lane] = factors[0, s, j, axis]


@jit
def _map(held, T, s, low, high, window, steps, middle, first, spacing, inverse, wide, phi, room):
    """G_σ4(s-t) φ_k(x_is - x_i't) for frames t, each k `room` vectors after the last; ``first`` is the middle pivot."""
    a, up, down = load(held, s), load(held, 2 * T + s), load(held, 4 * T + s)
    for t in range(low, high):
        gap = a - load(held, T + t) - first
        weight = window[abs(s - t)]
        value = _exp(gap * gap * (-inverse)) * weight
        store(phi, middle * room + t - low, like(phi, value))
        if wide:
            for k in range(len(steps) + 1):
                rest = gap - (k - middle) * spacing
                store(phi, k * room + t - low, like(phi, _exp(rest * rest * (-inverse)) * weight))
        else:
            other, step = value, up * load(held, 3 * T + t)
            for k in range(middle + 1, len(steps) + 1):
                value = value * step * steps[k - 1]
                store(phi, k * room + t - low, like(phi, value))
            step = down * load(held, 5 * T + t)
            for k in range(middle - 1, -1, -1):
                other = other * step * steps[k]
                store(phi, k * room + t - low, like(phi, other))


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
    def kernel(x, factors, times, pairs, band, window, steps, middle, shape, wide, held, own, out):
        """One recording; ``shape`` contains the middle pivot, the spacing of pivots, 1/σ² and the scale."""
        if not sources:
            return
        first, spacing, inverse, scale = shape
        T, P, n_pivots, room = len(x), times.shape[1], len(steps) + 1, 2 * len(window) - 1
        n_pairs, n_times = len(pairs), out.shape[-1]
        phi, sums = own[: n_pivots * room * LANES], own[n_pivots * room * LANES :]
        totals = sums[P * LANES :]
        for group in range((3 * n_pairs + LANES - 1) // LANES):
            _hold(x, factors, pairs, group, held)
            for k in range(n_pivots * P * P * LANES):
                totals[k] = 0
            for s in range(T):
                low, high = max(0, s - band), min(T, s + band + 1)
                _map(held, T, s, low, high, window, steps, middle, first, spacing, inverse, wide, phi, room)
                _add(phi, room, n_pivots, times, s, low, high, sums, totals)
            for lane in range(min(LANES, 3 * n_pairs - group * LANES)):
                n = group * LANES + lane
                target = out[n % n_pairs, n // n_pairs]
                for k in range(n_pivots):
                    for p in range(n_times):
                        row = ((k * P + p) * P) * LANES + lane
                        for q in range(n_times):
                            target[k, p, q] = totals[row + q * LANES] * scale

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
