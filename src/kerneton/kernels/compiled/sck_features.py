"""SCK from vectors to features, `LANES` joints side by side, compiled by Numba.

    T_i = Σ_s v_is ⊗ v_is ⊗ v_is → slices to the power γ → the entries that symmetry leaves

Only v is read and only features are written: the tensor's d(d+1)(d+2)/6 different entries, summed in float64 also for float32
data, stay in the cache. A slice is powered as `_epn_numba` does it, without being turned into lanes and back.
"""

from __future__ import annotations

import functools
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numba import njit

from kerneton.kernels.compiled.epn import own_room, powered
from kerneton.kernels.compiled.lanes import part
from kerneton.kernels.compiled.simd import (
    LANES,
    aligned,
    full,
    jit,
    like,
    load,
    store,
)
from kerneton.kernels.compiled.transpose import gather, scatter
from kerneton.machine.compiled.cache import cached_jit, source_number

MIN_SIDE, MAX_SIDE = 6, 48
_CHUNK = 8  # frames whose vectors stay in the first cache
_FEWEST_ROWS = 4  # for which a thread is worth its while


def features(v, power, positions, weights, n_threads=1):
    """v (R, T, d) to (R, n_entries); rows that did not converge, in practice none, are NaN, see the second answer.

    ``positions`` (m, n_entries) are places in the (d, d, d) tensor to be summed with ``weights`` (n_entries,).
    """
    out = np.empty((len(v), positions.shape[1]), v.dtype)
    failed = np.empty(len(v), np.bool_)

    def work(first, last):
        _features(v[first:last], power, positions, weights, out[first:last], failed[first:last])

    n_threads = max(1, min(n_threads, len(v) // _FEWEST_ROWS))
    *others, own = itertools.pairwise(np.linspace(0, len(v), n_threads + 1).astype(int))
    if not others:
        work(*own)
    else:
        # This thread works too: a system that starts a new one on a busy processor leaves it waiting there.
        with ThreadPoolExecutor(len(others)) as pool:
            waiting = [pool.submit(work, *rows) for rows in others]
            work(*own)
            for one in waiting:
                one.result()
    return out, failed


def _features(v, power, positions, weights, out, failures):
    n_rows, n_frames, d = v.shape
    n_entries = positions.shape[1]
    v = np.ascontiguousarray(v).reshape(n_rows, -1)
    n_groups = (n_rows - 1) // LANES
    n_rest = n_rows - n_groups * LANES
    rest = np.zeros((LANES + 1) * v.shape[1] + LANES, v.dtype)
    rest[: n_rest * v.shape[1]] = v[n_groups * LANES :].ravel()
    rest_out = np.empty((LANES, n_entries), v.dtype)
    failed = np.zeros(n_groups + 1, np.bool_)
    tables = _tables(d, positions.tobytes(), positions.shape, weights.tobytes())
    limit = 2 * d * d
    n_unique = math.comb(d + 2, 3)
    doubles = aligned(n_unique + d * (d + 1) // 2 + LANES + 5 * d + _CHUNK * d + LANES + _CHUNK, np.float64)
    own = aligned(own_room(d, v.dtype, limit) + n_entries, v.dtype)
    work = (*tables, doubles, own, np.empty(limit, np.int64))
    _kernel(v.reshape(-1), out.reshape(-1), n_groups, LANES, n_frames, d, power, *work, failed)
    _kernel(rest, rest_out.reshape(-1), 1, n_rest, n_frames, d, power, *work, failed[n_groups:])
    out[n_groups * LANES :] = rest_out[:n_rest]
    failures[:] = np.repeat(failed, LANES)[:n_rows]


@functools.lru_cache(maxsize=16)
def _tables(d, positions, shape, weights):
    """Where the packed entries of every slice stand among the different ones; which entries of a slice go into which
    features with what weight, slice after slice, and where each slice's begin."""
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
    """Lanes from, lanes to, and the row of the first, that slice k has when slices of ``n_rows`` rows share vectors."""
    start = k * n_rows - first
    return max(start, 0), min(start + n_rows, LANES), max(-start, 0)


@jit
def _deal(U, unique, first, n_rows, d, n_packed, A):
    """Slices of the first rows side by side: lane q has slice k of row r, ``first + q = k n_rows + r``."""
    for k in range(first // n_rows, min((first + LANES - 1) // n_rows + 1, d)):
        lane, end, row = _share(first, k, n_rows)
        for n in range(n_packed):
            for q in range(end - lane):
                A[n * LANES + lane + q] = U[unique[k, n] * LANES + row + q]
    for lane in range(n_rows * d - first, LANES):  # nobody reads these, but they must converge
        for n in range(n_packed):
            A[n * LANES + lane] = A[n * LANES]


@njit(nogil=True, error_model="numpy", fastmath={"contract", "nsz"})  # rounds as vectors do
def _collect(F, moves, weights, begins, first, n_rows, d, E):
    """Features of the first rows from the slices that `_deal` dealt."""
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
        source,
        target,
        n_groups,
        n_rows,
        n_frames,
        d,
        power,
        unique,
        moves,
        weights,
        begins,
        order,
        doubles,
        own,
        starts,
        failed,
    ):
        """Groups of `LANES` rows of vectors from the flat source to rows of features in the flat target.

        Where only the first ``n_rows`` of a group count, their slices share the lanes.
        """
        if not sources:
            return
        n_unique, n_packed, n_entries = d * (d + 1) * (d + 2) // 6, d * (d + 1) // 2, len(order)
        size = n_frames * d
        U = part(doubles, 0, n_unique)
        A = part(doubles, n_unique, n_packed + LANES)
        room = part(doubles, n_unique + n_packed + LANES, 5 * d)
        V = part(doubles, n_unique + n_packed + LANES + 5 * d, _CHUNK * d + LANES)
        P = part(doubles, n_unique + n_packed + 2 * LANES + 5 * d + _CHUNK * d, _CHUNK)
        E = part(own, 0, n_entries)
        work = own[n_entries * LANES :]
        for group in range(n_groups):
            offset = group * LANES * size
            for k in range(n_unique):
                store(U, k, full(0.0))
            for k in range(n_entries):
                store(E, k, like(E, full(0.0)))
            for first in range(0, n_frames, _CHUNK):
                count = min(_CHUNK, n_frames - first)
                for k in range(0, count * d, LANES):
                    gather(source, offset + first * d + k, size, V, k)
                _cubes(V, P, count, d, U)
            if n_rows == LANES:
                for k in range(d):
                    for n in range(n_packed):
                        store(A, n, load(U, unique[k, n]))
                    if not powered(A, d, power, room, work, starts):
                        failed[group] = True
                    for n in range(begins[k], begins[k + 1]):
                        entry = moves[1, n]
                        store(E, entry, load(E, entry) + load(work, moves[0, n]) * weights[n])
            else:
                for first in range(0, n_rows * d, LANES):
                    _deal(U, unique, first, n_rows, d, n_packed, A)
                    if not powered(A, d, power, room, work, starts):
                        failed[group] = True
                    _collect(work, moves, weights, begins, first, n_rows, d, E)
            for k in range(0, n_entries - LANES + 1, LANES):
                scatter(E, order, k, target, group * LANES * n_entries, n_entries)
            scatter(E, order, n_entries - LANES, target, group * LANES * n_entries, n_entries)

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
