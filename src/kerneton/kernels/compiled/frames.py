"""Vectors v of frames of recordings, `LANES` rows at a time: the first step of SCK of order 2 and 3.

    v_s = [√β₁ φ(x_s); √β₂ z(s/T)] / (T√J)^{1/r}

In float64 also for float32 data. Pivots are evenly spaced: φ_{k+1}(x) = φ_k(x) · e^{2xΔ/σ²} · const, two exponentials per coordinate.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from kerneton.kernels.compiled.lanes import exp2
from kerneton.kernels.compiled.simd import LANES, absolute, copysign, full, jit, load, sqrt, store, where

CHUNK = 8  # frames whose vectors stay in the first cache
_FAR = 700.0  # larger exponents give zero; products of factors within it stay in the range of float64
_LOG2E = math.log2(math.e)


def plan(starts, n_frames, table):
    """Start, length, start of the times, and number of each recording, (B, 4), the shortest first; then the results of `_times` and
    `_runs`."""
    runs, factors, n_signal = _runs(table.tobytes(), table.shape[1])
    order = np.argsort(n_frames, kind="stable")  # recordings of similar length share a group
    lengths = np.asarray(n_frames, np.int64)[order]
    times, at = _times(lengths.tobytes(), table[:, n_signal:].tobytes())
    places = np.stack([np.asarray(starts, np.int64)[order], lengths, at, order], axis=1)
    return places, times, runs, factors


@functools.lru_cache(maxsize=32)
def _runs(table, d):
    """Runs of entries of v that share a coordinate: its position, how many entries, whether each needs its own exponential, and their
    constants.

    Returns (n_runs, 3) whole numbers; (n_runs, 4 + longest) of first pivot, spacing, 1/σ², amplitude and the constant factors from each
    pivot to the next; and the number of entries that are not of time.
    """
    place, pivot, inverse, amplitude = np.frombuffer(table).reshape(4, d)
    n_signal = int((place >= 0).sum())
    starts = [0, *(np.flatnonzero(np.diff(place[:n_signal])) + 1).tolist(), n_signal]
    runs, factors = [], np.zeros((len(starts) - 1, 4 + d))
    for r, (a, b) in enumerate(itertools.pairwise(starts)):
        spacing = pivot[a + 1] - pivot[a] if b - a > 1 else 0.0
        # Farther out φ is zero; up to there the factor from pivot to pivot must be finite.
        farthest = np.abs(pivot[a:b]).max() + math.sqrt(_FAR / inverse[a])
        direct = 2 * farthest * spacing * inverse[a] > _FAR / max(b - a, 1)
        runs.append((int(place[a]), b - a, int(direct)))
        factors[r, :4] = pivot[a], spacing, inverse[a], amplitude[a]
        if not direct:
            factors[r, 4 : 4 + b - a - 1] = np.exp(-np.diff(pivot[a:b] ** 2) * inverse[a])
    return np.asarray(runs, np.int64).reshape(-1, 3), factors, n_signal


@functools.lru_cache(maxsize=16)  # the same for all cues
def _times(lengths, table):
    """z(s/T) of every frame of recordings of some lengths, end to end, (N, Z₃), and where each recording starts, (B,)."""
    lengths = np.frombuffer(lengths, np.int64)
    _, pivot, inverse, amplitude = np.frombuffer(table).reshape(4, -1)
    sizes, which = np.unique(lengths, return_inverse=True)
    time = np.concatenate([np.arange(1, n + 1) / n for n in sizes])
    return np.exp((time[:, None] - pivot) ** 2 * -inverse) * amplitude, (np.cumsum(sizes) - sizes)[which]


@jit
def place_rows(first, n_rows, order, places, rows, n_entries, lanes, share, offsets):
    """Values of the lanes: start, length, time, joints i and j; 1/(T√J)^(1/order); where features go. Lanes beyond ``n_rows`` repeat the
    last row.

    Row r is row r % P of recording r // P. Returns the number of frames of the longest recording.
    """
    P, longest = len(rows), 0
    for lane in range(LANES):
        row = first + min(lane, n_rows - 1)
        b, p = row // P, row % P
        lanes[lane, :3] = places[b, :3]
        lanes[lane, 3:] = rows[p]
        share[lane] = (1 / (places[b, 1] * math.sqrt(P))) ** (1 / order)
        offsets[lane] = (places[b, 3] * P + p) * n_entries
        longest = max(longest, places[b, 1])
    return longest


@jit
def _exp(x):
    """e^x for -`_FAR` ≤ x ≤ `_FAR`; smaller x count as -`_FAR`, and NaN stays NaN."""
    return exp2(where(x < -_FAR, full(-_FAR), x) * _LOG2E)


@jit
def read_frame(frames, lanes, share, columns, scales, unit, times, s, X, V, d):
    """Read the coordinates of a frame and its weight (zero after the last frame) into X, and its z into the last of the d entries of V."""
    W, n_times = len(columns), times.shape[1]
    for lane in range(LANES):
        start, n, at, i, j = lanes[lane]
        counts = share[lane] * (s < n)
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
            limit = _FAR / n  # at this limit every φ is zero
            grow = where(absolute(grow) < limit, grow, copysign(full(limit), grow))
            step = _exp(grow)
            for k in range(1, n):
                value = value * step * factors[r, 3 + k]
                store(V, at + k, value)
        at += n
