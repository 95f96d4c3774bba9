"""Steps of SCK of order 2 from coordinates to sums, `LANES` rows side by side; see `kerneton.kernels.compiled.sck_order2`."""

from __future__ import annotations

import math

from kerneton.kernels.compiled.lanes import exp2
from kerneton.kernels.compiled.simd import LANES, absolute, copysign, full, jit, load, sqrt, store, where

TILE = 4  # rows and columns of a block of A that is summed together; two rows at a time stay in registers
FAR = 700.0  # exponents beyond it are zero; products of factors within it stay in the range of float64
_LOG2E = math.log2(math.e)


@jit
def _exp(x):
    """e^x for -`FAR` ≤ x ≤ `FAR`; smaller ones are taken for -`FAR`, and NaN stays."""
    return exp2(where(x < -FAR, full(-FAR), x) * _LOG2E)


@jit
def read_frame(frames, lanes, columns, scales, unit, times, s, X, V, d):
    """Coordinates of a frame into X, then whether it counts; its z into the last of the d entries of V."""
    W, n_times = len(columns), times.shape[1]
    for lane in range(LANES):
        start, n, at, i, j = lanes[lane]
        counts = s < n
        frame = frames[start + min(s, n - 1)]
        if j < 0:
            for w in range(W):
                X[w * LANES + lane] = frame[i, columns[w]] * scales[w]
        else:
            for w in range(W):
                X[w * LANES + lane] = (frame[i, columns[w]] - frame[j, columns[w]]) * scales[w]
        X[W * LANES + lane] = counts
        time = times[at + min(s, n - 1)]
        for p in range(n_times):
            V[(d - n_times + p) * LANES + lane] = time[p] * counts
    for k in range(W // 3):
        if unit >> k & 1:
            x, y, z = load(X, 3 * k), load(X, 3 * k + 1), load(X, 3 * k + 2)
            square = x * x + y * y + z * z
            inverse = where(square > 0.0, 1.0 / sqrt(where(square > 0.0, square, full(1.0))), full(0.0))
            store(X, 3 * k, x * inverse)
            store(X, 3 * k + 1, y * inverse)
            store(X, 3 * k + 2, z * inverse)


@jit
def map_frame(X, n_columns, runs, factors, V):
    """φ of every coordinate into V."""
    counts = load(X, n_columns)
    at = 0
    for r in range(len(runs)):
        place, n, direct = runs[r]
        first, spacing, inverse, amplitude = factors[r, 0], factors[r, 1], factors[r, 2], factors[r, 3]
        x = load(X, place)
        gap = x - first
        scale = counts * amplitude
        value = _exp(gap * gap * (-inverse)) * scale
        store(V, at, value)
        if direct:
            for k in range(1, n):
                rest = gap - k * spacing
                store(V, at + k, _exp(rest * rest * (-inverse)) * scale)
        elif n > 1:
            grow = x * (2.0 * spacing * inverse)
            limit = FAR / n  # where it is reached, every φ is zero
            grow = where(absolute(grow) < limit, grow, copysign(full(limit), grow))
            step = _exp(grow)
            for k in range(1, n):
                value = value * step * factors[r, 3 + k]
                store(V, at + k, value)
        at += n


@jit
def add_squares(V, count, wide, U):
    """U[i, j] += Σ_s v_i v_j over some frames, for the blocks of i ≥ j."""
    for i in range(0, wide, 2):
        for j in range(0, i + 1, TILE):
            a, b = i * wide + j, (i + 1) * wide + j
            x0, x1, x2, x3 = load(U, a), load(U, a + 1), load(U, a + 2), load(U, a + 3)
            y0, y1, y2, y3 = load(U, b), load(U, b + 1), load(U, b + 2), load(U, b + 3)
            for s in range(count):
                here = s * wide
                p, q = load(V, here + i), load(V, here + i + 1)
                v0, v1 = load(V, here + j), load(V, here + j + 1)
                v2, v3 = load(V, here + j + 2), load(V, here + j + 3)
                x0, x1, x2, x3 = x0 + p * v0, x1 + p * v1, x2 + p * v2, x3 + p * v3
                y0, y1, y2, y3 = y0 + q * v0, y1 + q * v1, y2 + q * v2, y3 + q * v3
            store(U, a, x0)
            store(U, a + 1, x1)
            store(U, a + 2, x2)
            store(U, a + 3, x3)
            store(U, b, y0)
            store(U, b + 1, y1)
            store(U, b + 2, y2)
            store(U, b + 3, y3)


@jit
def pack(U, d, wide, share, A):
    """Lower triangle of U, times each lane's share."""
    factor = load(share, 0)
    at = 0
    for i in range(d):
        for j in range(i + 1):
            store(A, at, load(U, i * wide + j) * factor)
            at += 1


@jit
def weigh(F, d):
    """√2 off the diagonal: the dot product of the entries that symmetry leaves is that of the matrices."""
    at = 0
    for i in range(d):
        for _ in range(i):
            store(F, at, load(F, at) * math.sqrt(2.0))
            at += 1
        at += 1
