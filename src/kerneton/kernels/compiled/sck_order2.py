"""SCK of order 2 from signals to features, `LANES` joints side by side, compiled by Numba.

    v_s = [√β₁ φ(x_s); √β₂ z(s/T)]        A = 1/(T√J) Σ_s v_s v_sᵀ  →  A^γ  →  the entries that symmetry leaves

Only signals are read and only features are written. Vectors and sums are float64 also for float32 data: a power of 0.3 turns
rounding of 1e-7 into 8e-3. Every lane does the same operations in the same order whatever stands beside it, so that features do
not depend on batches or threads. Pivots are evenly spaced: φ_{k+1}(x) = φ_k(x) · e^{2xΔ/σ²} · const, two exponentials a coordinate.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from pathlib import Path

import numpy as np

from kerneton.kernels.compiled.epn import own_room, powered
from kerneton.kernels.compiled.lanes import exp2, part
from kerneton.kernels.compiled.simd import (
    LANES,
    absolute,
    aligned,
    copysign,
    full,
    jit,
    load,
    store,
    where,
)
from kerneton.kernels.compiled.transpose import scatter
from kerneton.machine.compiled.cache import cached_jit, source_number
from kerneton.machine.threads import in_threads

MIN_SIDE, MAX_SIDE = 6, 96
_CHUNK = 8  # frames whose vectors stay in the first cache
_TILE = 4  # rows and columns of a block of A that is summed together; two rows at a time stay in registers
_LOG2E = math.log2(math.e)
_FAR = 700.0  # exponents beyond it are zero; products of factors within it stay in the range of float64


def features(signals, n_frames, table, power, n_threads=1):
    """Signals (B, T, J, W), padded beyond ``n_frames`` (B,), to (B, J, d(d+1)/2), and which rows (B, J) did not converge.

    ``table`` (4, d) says how each entry of v is made: place among the W signals (-1 for time, these last), pivot, 1/σ², amplitude.
    """
    B, T, J, _ = signals.shape
    d = table.shape[1]
    n_entries = d * (d + 1) // 2
    runs, factors, n_signal = _runs(table.tobytes(), d)
    times = _times(n_frames, T, table[:, n_signal:])
    shares = 1 / (np.asarray(n_frames, np.float64) * J**0.5)
    signals = np.ascontiguousarray(signals)
    out = np.empty((B * J, n_entries), signals.dtype)
    n_groups = -(-B * J // LANES)
    failed = np.zeros(n_groups, np.bool_)
    lengths = np.asarray(n_frames, np.int64)

    def work(groups):
        room = _workspace(d, signals.dtype, threading.get_ident())
        _kernel(signals, lengths, times, shares, runs, factors, d, power, *room, *groups, out, failed)

    n_threads = max(1, min(n_threads, n_groups))
    bounds = [n_groups * i // n_threads for i in range(n_threads + 1)]
    in_threads(work, itertools.pairwise(bounds), n_threads)
    return out.reshape(B, J, n_entries), np.repeat(failed, LANES)[: B * J].reshape(B, J)


@functools.lru_cache(maxsize=32)
def _runs(table, d):
    """Entries of v that share a coordinate: its place, how many, whether they need an exponential each, and numbers for them.

    Returns (n_runs, 3) whole numbers; (n_runs, 4 + longest) of first pivot, spacing, 1/σ², amplitude and the constant factors
    from each pivot to the next; and how many entries are not of time.
    """
    place, pivot, inverse, amplitude = np.frombuffer(table).reshape(4, d)
    n_signal = int((place >= 0).sum())
    starts = [0, *(np.flatnonzero(np.diff(place[:n_signal])) + 1).tolist(), n_signal]
    runs, factors = [], np.zeros((len(starts) - 1, 4 + d))
    for r, (a, b) in enumerate(itertools.pairwise(starts)):
        spacing = pivot[a + 1] - pivot[a] if b - a > 1 else 0.0
        # Farther out than this φ is zero, and there the factor from pivot to pivot must still be finite.
        farthest = np.abs(pivot[a:b]).max() + math.sqrt(_FAR / inverse[a])
        direct = 2 * farthest * spacing * inverse[a] > _FAR / max(b - a, 1)
        runs.append((int(place[a]), b - a, int(direct)))
        factors[r, :4] = pivot[a], spacing, inverse[a], amplitude[a]
        if not direct:
            factors[r, 4 : 4 + b - a - 1] = np.exp(-np.diff(pivot[a:b] ** 2) * inverse[a])
    return np.asarray(runs, np.int64).reshape(-1, 3), factors, n_signal


def _times(n_frames, T, table):
    """z(s/T) of every frame, and 1, or all zero where padded, (B, T, Z₃ + 1)."""
    _, pivot, inverse, amplitude = table
    time = np.arange(1, T + 1) / np.asarray(n_frames, np.float64)[:, None]
    out = np.ones((*time.shape, len(pivot) + 1))
    out[..., :-1] = np.exp((time[..., None] - pivot) ** 2 * -inverse) * amplitude
    out[time > 1 + 0.5 / T] = 0
    return out


@functools.lru_cache(maxsize=16)  # fresh memory costs more than the work on a single recording
def _workspace(d, dtype, _thread):
    """A thread's room in float64 and in the precision of the data, starts of sweeps, places of entries among packed ones."""
    wide, limit = _padded(d), 2 * d * d
    doubles = aligned(
        wide * wide + d * (d + 1) // 2 + LANES + 5 * d + _CHUNK * wide + 3 * d + LANES, np.float64
    )
    own = aligned(own_room(d, dtype, limit), dtype)
    return doubles, own, np.empty(limit, np.int64), _entries(d)


@jit
def _padded(d):
    return (d + _TILE - 1) // _TILE * _TILE


@functools.lru_cache(maxsize=32)
def _entries(d):
    """Where entry (i, j), i ≤ j, stands in a packed lower triangle."""
    i, j = np.triu_indices(d)
    return j * (j + 1) // 2 + i


@jit
def _exp(x):
    """e^x for -`_FAR` ≤ x ≤ `_FAR`; smaller ones are taken for -`_FAR`, and NaN stays."""
    return exp2(where(x < -_FAR, full(-_FAR), x) * _LOG2E)


@jit
def _read(signals, times, first, s, X, V, d, n_times):
    """Coordinates of a frame into X, then whether it counts; its z into the last of the d entries of V."""
    J, W = signals.shape[2], signals.shape[3]
    last = signals.shape[0] * J - 1
    for lane in range(LANES):
        row = min(first + lane, last)
        b, j = row // J, row % J
        for w in range(W):
            X[w * LANES + lane] = signals[b, s, j, w]
        X[W * LANES + lane] = times[b, s, n_times]
        for p in range(n_times):
            V[(d - n_times + p) * LANES + lane] = times[b, s, p]


@jit
def _map(X, n_columns, runs, factors, V):
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
            limit = _FAR / n  # where it is reached, every φ is zero
            grow = where(absolute(grow) < limit, grow, copysign(full(limit), grow))
            step = _exp(grow)
            for k in range(1, n):
                value = value * step * factors[r, 3 + k]
                store(V, at + k, value)
        at += n


@jit
def _squares(V, count, wide, U):
    """U[i, j] += Σ_s v_i v_j over some frames, for the blocks of i ≥ j."""
    for i in range(0, wide, 2):
        for j in range(0, i + 1, _TILE):
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
def _pack(U, d, wide, share, A):
    """Lower triangle of U, times each lane's share."""
    factor = load(share, 0)
    at = 0
    for i in range(d):
        for j in range(i + 1):
            store(A, at, load(U, i * wide + j) * factor)
            at += 1


@jit
def _weigh(F, d):
    """√2 off the diagonal: the dot product of the entries that symmetry leaves is that of the matrices."""
    at = 0
    for i in range(d):
        for _ in range(i):
            store(F, at, load(F, at) * math.sqrt(2.0))
            at += 1
        at += 1


def _compile(sources):
    @cached_jit
    def kernel(
        signals,
        lengths,
        times,
        shares,
        runs,
        factors,
        d,
        power,
        doubles,
        own,
        starts,
        order,
        first_group,
        last_group,
        out,
        failed,
    ):
        """Groups of `LANES` rows, joint after joint and recording after recording, to rows of ``out``."""
        if not sources:
            return
        J, W, n_times = signals.shape[2], signals.shape[3], times.shape[2] - 1
        wide, n_packed, n_entries = _padded(d), d * (d + 1) // 2, len(order)
        n_rows = signals.shape[0] * J
        at = wide * wide
        U, A = part(doubles, 0, at), part(doubles, at, n_packed + LANES)
        room = part(doubles, at + n_packed + LANES, 5 * d)
        at += n_packed + LANES + 5 * d
        V, X = part(doubles, at, _CHUNK * wide), part(doubles, at + _CHUNK * wide, W + 1)
        share = part(doubles, at + _CHUNK * wide + W + 1, 1)
        rest = np.empty(LANES * n_entries, out.dtype)
        flat = out.reshape(-1)
        for k in range(_CHUNK * wide):
            store(V, k, full(0.0))  # and what pads a vector stays zero
        for group in range(first_group, last_group):
            first = group * LANES
            longest = 0
            for lane in range(LANES):
                b = min(first + lane, n_rows - 1) // J
                longest = max(longest, lengths[b])
                share[lane] = shares[b]
            for k in range(wide * wide):
                store(U, k, full(0.0))
            for start in range(0, longest, _CHUNK):
                count = min(_CHUNK, longest - start)
                for s in range(count):
                    v = V[s * wide * LANES : (s * wide + d) * LANES]
                    _read(signals, times, first, start + s, X, v, d, n_times)
                    _map(X, W, runs, factors, v)
                _squares(V, count, wide, U)
            _pack(U, d, wide, share, A)
            if not powered(A, d, power, room, own, starts):
                failed[group] = True
                continue
            _weigh(own, d)
            whole = first + LANES <= n_rows
            target, offset = (flat, first * n_entries) if whole else (rest, 0)
            for k in range(0, n_entries - LANES + 1, LANES):
                scatter(own, order, k, target, offset, n_entries)
            scatter(own, order, n_entries - LANES, target, offset, n_entries)
            if not whole:
                n = n_rows - first
                flat[first * n_entries :] = rest[: n * n_entries]

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
