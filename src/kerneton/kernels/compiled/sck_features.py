"""SCK of order 3 from signals to features, `LANES` joints at a time, compiled by Numba.

    T_i = Σ_s v_is ⊗ v_is ⊗ v_is → slices to the power γ → unique entries

Only signals are read and only features are written: the tensor's d(d+1)(d+2)/6 different entries, summed in float64 also for
float32 data, stay in the cache. The power of a slice is computed as in `epn`, without moving the slices into lanes and back.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
from pathlib import Path

import numpy as np
from numba.extending import register_jitable

from kerneton.kernels.compiled.epn import own_room, powered
from kerneton.kernels.compiled.frames import CHUNK, map_frame, place_rows, plan, read_frame
from kerneton.kernels.compiled.lanes import part
from kerneton.kernels.compiled.rational import poles_of
from kerneton.kernels.compiled.simd import (
    LANES,
    aligned,
    full,
    jit,
    like,
    load,
    store,
)
from kerneton.kernels.compiled.transpose import scatter_rows
from kerneton.machine.compiled.cache import cached_jit, source_number
from kerneton.machine.threads import in_threads

MIN_SIDE, MAX_SIDE = 6, 48
_FEWEST_ROWS = 4  # for which another thread is worth it


def features(signals, n_frames, table, power, positions, weights, n_threads=1):
    """Signals (B, T, J, W), padded beyond ``n_frames`` (B,), to (B, J, n_entries), and whether all converged, as they do in practice.

    ``table`` (4, d) defines the entries of v: position among the W signals (-1 for time, which comes last), pivot, 1/σ², amplitude.
    ``positions`` (m, n_entries) are positions in the (d, d, d) tensor to be summed with ``weights`` (n_entries,).
    """
    (B, T, J, W), d = signals.shape, table.shape[1]
    frames = np.ascontiguousarray(signals).reshape(B * T, J, W)
    out = np.empty((B, J, positions.shape[1]), signals.dtype)
    given = frames, *plan(np.arange(B) * T, n_frames, table), d, power, poles_of(power, signals.dtype)
    tables = _tables(d, positions.tobytes(), positions.shape, weights.tobytes())

    def work(rows):
        room = _workspace(d, W, positions.shape[1], signals.dtype, threading.get_ident())
        return _kernel(*given, *tables, *room, *rows, out.reshape(-1))

    n_threads = max(1, min(n_threads, B * J // _FEWEST_ROWS))
    bounds = [B * J * i // n_threads for i in range(n_threads + 1)]
    return out, all(in_threads(work, itertools.pairwise(bounds), n_threads))


@functools.lru_cache(maxsize=16)  # allocating it would take longer than one recording
def _workspace(d, n_columns, n_entries, dtype, _thread):
    """A thread's room in float64 and in the precision of the data, starts of sweeps."""
    limit = 2 * d * d
    n_unique = math.comb(d + 2, 3)
    doubles = aligned(
        n_unique + d * (d + 1) // 2 + LANES + 5 * d + CHUNK * d + n_columns + 1 + CHUNK, np.float64
    )
    return doubles, aligned(own_room(d, dtype, limit) + n_entries, dtype), np.empty(limit, np.int64)


@functools.lru_cache(maxsize=16)
def _tables(d, positions, shape, weights):
    """Positions of the packed entries of every slice among the unique ones; which entries of a slice go into which features with which
    weight, slice after slice; and where each slice begins in these lists."""
    place = {triple: n for n, triple in enumerate(_triples(d))}
    pairs = [(i, j) for i in range(d) for j in range(i + 1)]
    unique = np.array([[place[tuple(sorted((i, j, k), reverse=True))] for i, j in pairs] for k in range(d)])
    at = np.frombuffer(positions, dtype=np.int64).reshape(shape)
    entry = np.broadcast_to(np.arange(shape[1]), shape).ravel()
    weight = np.broadcast_to(np.frombuffer(weights), shape).ravel()
    slices, inside = np.divmod(at.ravel(), d * d)
    i, j = np.divmod(inside, d)
    high, low = np.maximum(i, j), np.minimum(i, j)
    order = np.lexsort((entry, slices))
    moves = np.stack([high * (high + 1) // 2 + low, entry])[:, order]
    starts = np.searchsorted(slices[order], np.arange(d + 1))
    return (
        unique.astype(np.int64),
        np.ascontiguousarray(moves),
        weight[order].copy(),
        starts,
        np.arange(shape[1]),
    )


def _triples(d):
    """i ≥ j ≥ k, in the order in which they are summed."""
    return [(i, j, k) for i, j in itertools.product(range(d), repeat=2) if j <= i for k in range(j + 1)]


@jit
def _cubes(V, P, count, d, U):
    """U += Σ_s v_i v_j v_k over some frames, i ≥ j ≥ k."""
    at = 0
    for i in range(d):
        for j in range(i + 1):
            for s in range(count):
                store(P, s, load(V, s * d + i) * load(V, s * d + j))
            k = 0
            while k + 4 <= j + 1:
                x0, x1, x2, x3 = load(U, at), load(U, at + 1), load(U, at + 2), load(U, at + 3)
                for s in range(count):
                    p, start = load(P, s), s * d + k
                    x0 = x0 + p * load(V, start)
                    x1 = x1 + p * load(V, start + 1)
                    x2 = x2 + p * load(V, start + 2)
                    x3 = x3 + p * load(V, start + 3)
                store(U, at, x0)
                store(U, at + 1, x1)
                store(U, at + 2, x2)
                store(U, at + 3, x3)
                k += 4
                at += 4
            while k <= j:
                x0 = load(U, at)
                for s in range(count):
                    x0 = x0 + load(P, s) * load(V, s * d + k)
                store(U, at, x0)
                k += 1
                at += 1


@jit
def _share(first, k, n_rows):
    """First and last lane of slice k, and the row of the first, if slices of ``n_rows`` rows share vectors."""
    start = k * n_rows - first
    return max(start, 0), min(start + n_rows, LANES), max(-start, 0)


@jit
def _deal(U, unique, first, n_rows, d, n_packed, A):
    """Put the slices of the first rows into lanes: lane q has slice k of row r, ``first + q = k n_rows + r``."""
    for k in range(first // n_rows, min((first + LANES - 1) // n_rows + 1, d)):
        lane, end, row = _share(first, k, n_rows)
        for n in range(n_packed):
            for q in range(end - lane):
                A[n * LANES + lane + q] = U[unique[k, n] * LANES + row + q]
    for lane in range(n_rows * d - first, LANES):  # not read, but they must converge
        for n in range(n_packed):
            A[n * LANES + lane] = A[n * LANES]


@register_jitable(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})  # rounds as vectors do
def _collect(F, moves, weights, begins, first, n_rows, d, E):
    """Features of the first rows from the slices that `_deal` put into lanes."""
    kind = E.dtype.type
    for k in range(first // n_rows, min((first + LANES - 1) // n_rows + 1, d)):
        lane, end, row = _share(first, k, n_rows)
        for n in range(begins[k], begins[k + 1]):
            source, target, weight = moves[0, n] * LANES + lane, moves[1, n] * LANES + row, kind(weights[n])
            for q in range(end - lane):
                E[target + q] += F[source + q] * weight


def _compile(sources):
    @cached_jit
    def kernel(
        frames,
        places,
        times,
        runs,
        factors,
        d,
        power,
        poles,
        unique,
        moves,
        weights,
        begins,
        order,
        doubles,
        own,
        starts,
        first_row,
        last_row,
        out,
    ):
        """Rows, joint after joint and recording after recording, to rows of ``out``; whether all converged.

        If fewer than `LANES` rows are left, their slices share the lanes.
        """
        if not sources:
            return False
        J, W = frames.shape[1:]
        n_unique, n_packed, n_entries = d * (d + 1) * (d + 2) // 6, d * (d + 1) // 2, len(order)
        U = part(doubles, 0, n_unique)
        A = part(doubles, n_unique, n_packed + LANES)
        at = n_unique + n_packed + LANES
        room, V = part(doubles, at, 5 * d), part(doubles, at + 5 * d, CHUNK * d)
        at += 5 * d + CHUNK * d
        X, P = part(doubles, at, W + 1), part(doubles, at + W + 1, CHUNK)
        E = part(own, 0, n_entries)
        work = own[n_entries * LANES :]
        lanes, share, offsets = np.empty((LANES, 5), np.int64), np.empty(LANES), np.empty(LANES, np.int64)
        rows, columns, scales = np.full((J, 2), -1), np.arange(W), np.ones(W, frames.dtype)
        rows[:, 0] = np.arange(J)
        converged = True
        for first in range(first_row, last_row, LANES):
            n_rows = min(LANES, last_row - first)
            longest = place_rows(first, n_rows, 3, places, rows, n_entries, lanes, share, offsets)
            for k in range(n_unique):
                store(U, k, full(0.0))
            for k in range(n_entries):
                store(E, k, like(E, full(0.0)))
            for start in range(0, longest, CHUNK):
                count = min(CHUNK, longest - start)
                for s in range(count):
                    v = V[s * d * LANES : (s + 1) * d * LANES]
                    read_frame(frames, lanes, share, columns, scales, 0, times, start + s, X, v, d)
                    map_frame(X, W, runs, factors, v)
                _cubes(V, P, count, d, U)
            for slot in range(0, n_rows * d, LANES):
                k = slot // LANES
                if n_rows == LANES:
                    for n in range(n_packed):
                        store(A, n, load(U, unique[k, n]))
                else:
                    _deal(U, unique, slot, n_rows, d, n_packed, A)
                converged &= powered(A, d, power, poles, room, work, starts)
                if n_rows == LANES:
                    for n in range(begins[k], begins[k + 1]):
                        entry = moves[1, n]
                        store(E, entry, load(E, entry) + load(work, moves[0, n]) * weights[n])
                else:
                    _collect(work, moves, weights, begins, slot, n_rows, d, E)
            for k in range(n_entries):
                for lane in range(n_rows, LANES):
                    E[k * LANES + lane] = E[k * LANES + n_rows - 1]  # the same as the rows that they repeat
            for k in range(0, n_entries - LANES + 1, LANES):
                scatter_rows(E, order, k, out, offsets)
            scatter_rows(E, order, n_entries - LANES, out, offsets)
        return converged

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
