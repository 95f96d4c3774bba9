"""SCK of order 2 from signals to features, `LANES` joints at a time, compiled by Numba.

    v_s = [√β₁ φ(x_s); √β₂ z(s/T)]        A = 1/(T√J) Σ_s v_s v_sᵀ  →  A^γ  →  unique entries

Only signals are read and only features are written. Vectors and sums are float64 also for float32 data: a power of 0.3 turns rounding
errors of 1e-7 into 8e-3. Every lane does the same operations in the same order whatever is in the other lanes, so features do not depend on
batches or threads. Pivots are evenly spaced: φ_{k+1}(x) = φ_k(x) · e^{2xΔ/σ²} · const, two exponentials per coordinate.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from pathlib import Path

import numpy as np

from kerneton.kernels.compiled.epn import own_room, powered
from kerneton.kernels.compiled.frames import CHUNK, map_frame, place_rows, plan, read_frame
from kerneton.kernels.compiled.lanes import part
from kerneton.kernels.compiled.rational import poles_of
from kerneton.kernels.compiled.simd import LANES, aligned, full, jit, load, store
from kerneton.kernels.compiled.transpose import scatter_rows
from kerneton.machine.compiled.cache import cached_jit, source_number
from kerneton.machine.threads import in_threads

MIN_SIDE, MAX_SIDE = 6, 96
_TILE = 4  # rows and columns of a block of A that is summed at once; two rows at a time fit into registers


def features(signals, n_frames, table, power, n_threads=1):
    """Signals (B, T, J, W), padded beyond ``n_frames`` (B,), to (B, J, d(d+1)/2), and which rows (B, J) did not converge.

    ``table`` (4, d) defines the entries of v: position among the W signals (-1 for time, which comes last), pivot, 1/σ², amplitude.
    """
    B, T, J, W = signals.shape
    rows = np.stack([np.arange(J), np.full(J, -1)], axis=1)
    frames = np.ascontiguousarray(signals).reshape(B * T, J, W)
    out, failed = frame_features(
        frames, np.arange(B) * T, n_frames, rows, np.arange(W), np.ones(W), 0, table, power, n_threads
    )
    return out.reshape(B, J, -1), failed


def frame_features(
    frames, starts, n_frames, rows, columns, scales, unit, table, power, n_threads=1, out=None
):
    """Frames of concatenated recordings, (N, joints, C), to (B, n_rows · d(d+1)/2), and which rows (B, n_rows) did not converge.

    Recording b has ``n_frames[b]`` frames from ``starts[b]`` on. A row (i, j) is joint i minus joint j, or joint i alone if j < 0. Its W
    coordinates are ``columns`` of the frames, times ``scales``; signals (three coordinates each) whose bit is set in ``unit`` are scaled to
    unit length. ``table`` is as in `features`.
    """
    B, P, d = len(starts), len(rows), table.shape[1]
    n_entries = d * (d + 1) // 2
    places, times, runs, factors = plan(starts, n_frames, table)
    out = np.empty((B, P * n_entries), frames.dtype) if out is None else out
    n_groups = -(-B * P // LANES)
    failed = np.zeros(n_groups, np.bool_)
    rows, columns = np.ascontiguousarray(rows, np.int64), np.asarray(columns, np.int64)
    scales = np.asarray(scales, frames.dtype)
    given = frames, places, rows, columns, scales, int(unit), times, runs, factors, d, power
    given = *given, poles_of(power, frames.dtype)

    def work(groups):
        room = _workspace(d, frames.dtype, threading.get_ident())
        _kernel(*given, *room, *groups, out.reshape(-1), failed)

    n_threads = max(1, min(n_threads, n_groups))
    bounds = [n_groups * i // n_threads for i in range(n_threads + 1)]
    in_threads(work, itertools.pairwise(bounds), n_threads)
    wrong = np.zeros((B, P), np.bool_)
    if failed.any():
        wrong[places[:, 3]] = np.repeat(failed, LANES)[: B * P].reshape(B, P)
    return out, wrong


@functools.lru_cache(maxsize=16)  # allocating it would take longer than one recording
def _workspace(d, dtype, _thread):
    """A thread's room in float64 and in the precision of the data, starts of sweeps, places of entries among packed ones."""
    wide, limit = _padded(d), 2 * d * d
    doubles = aligned(
        wide * wide + d * (d + 1) // 2 + LANES + 5 * d + CHUNK * wide + 3 * d + LANES, np.float64
    )
    own = aligned(own_room(d, dtype, limit), dtype)
    return doubles, own, np.empty(limit, np.int64), _entries(d)


@jit
def _padded(d):
    return (d + _TILE - 1) // _TILE * _TILE


@functools.lru_cache(maxsize=32)
def _entries(d):
    """The position of entry (i, j), i ≤ j, in a packed lower triangle."""
    i, j = np.triu_indices(d)
    return j * (j + 1) // 2 + i


@jit
def _add_squares(V, count, wide, U):
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
def _pack(U, d, wide, A):
    """Lower triangle of U."""
    at = 0
    for i in range(d):
        for j in range(i + 1):
            store(A, at, load(U, i * wide + j))
            at += 1


@jit
def _weigh(F, d):
    """Multiply by √2 off the diagonal, so that the dot product of unique entries is that of the matrices."""
    at = 0
    for i in range(d):
        for _ in range(i):
            store(F, at, load(F, at) * math.sqrt(2.0))
            at += 1
        at += 1


@jit
def _write(own, order, n_entries, target, offsets):
    for k in range(0, n_entries - LANES + 1, LANES):
        scatter_rows(own, order, k, target, offsets)
    scatter_rows(own, order, n_entries - LANES, target, offsets)


def _compile(sources):
    @cached_jit
    def kernel(
        frames,
        places,
        rows,
        columns,
        scales,
        unit,
        times,
        runs,
        factors,
        d,
        power,
        poles,
        doubles,
        own,
        starts,
        order,
        first_group,
        last_group,
        out,
        failed,
    ):
        """Groups of `LANES` rows, row after row and recording after recording, to rows of ``out``."""
        if not sources:
            return
        P, W = len(rows), len(columns)
        wide, n_packed, n_entries = _padded(d), d * (d + 1) // 2, len(order)
        n_rows = len(places) * P
        at = wide * wide
        U, A = part(doubles, 0, at), part(doubles, at, n_packed + LANES)
        room = part(doubles, at + n_packed + LANES, 5 * d)
        at += n_packed + LANES + 5 * d
        V, X = part(doubles, at, CHUNK * wide), part(doubles, at + CHUNK * wide, W + 1)
        lanes, share, offsets = np.empty((LANES, 5), np.int64), np.empty(LANES), np.empty(LANES, np.int64)
        for k in range(CHUNK * wide):
            store(V, k, full(0.0))  # padding of a vector stays zero
        for group in range(first_group, last_group):
            first = group * LANES
            n_here = min(LANES, n_rows - first)
            longest = place_rows(first, n_here, 2, places, rows, n_entries, lanes, share, offsets)
            for k in range(wide * wide):
                store(U, k, full(0.0))
            for start in range(0, longest, CHUNK):
                count = min(CHUNK, longest - start)
                for s in range(count):
                    v = V[s * wide * LANES : (s * wide + d) * LANES]
                    read_frame(frames, lanes, share, columns, scales, unit, times, start + s, X, v, d)
                    map_frame(X, W, runs, factors, v)
                _add_squares(V, count, wide, U)
            _pack(U, d, wide, A)
            if not powered(A, d, power, poles, room, own, starts):
                failed[group] = True
                continue
            _weigh(own, d)
            _write(own, order, n_entries, out, offsets)  # lanes beyond the last row repeat it

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
