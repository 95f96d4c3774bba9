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
from kerneton.kernels.compiled.lanes import part
from kerneton.kernels.compiled.order2_steps import FAR, TILE, add_squares, map_frame, pack, read_frame, weigh
from kerneton.kernels.compiled.simd import LANES, aligned, full, jit, store
from kerneton.kernels.compiled.transpose import scatter_rows
from kerneton.machine.compiled.cache import cached_jit, source_number
from kerneton.machine.threads import in_threads

MIN_SIDE, MAX_SIDE = 6, 96
_CHUNK = 8  # frames whose vectors stay in the first cache


def features(signals, n_frames, table, power, n_threads=1):
    """Signals (B, T, J, W), padded beyond ``n_frames`` (B,), to (B, J, d(d+1)/2), and which rows (B, J) did not converge.

    ``table`` (4, d) says how each entry of v is made: place among the W signals (-1 for time, these last), pivot, 1/σ², amplitude.
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
    """Frames of recordings end to end, (N, joints, C), to (B, n_rows · d(d+1)/2), and which rows (B, n_rows) did not converge.

    Recording b has ``n_frames[b]`` frames from ``starts[b]`` on. A row (i, j) is joint i less joint j, or joint i alone where
    j < 0. Its W coordinates are ``columns`` of the frames, times ``scales``; of the signals whose bit is set in ``unit``, three
    coordinates each, only the direction is taken. ``table`` is as in `features`.
    """
    B, P, d = len(starts), len(rows), table.shape[1]
    n_entries = d * (d + 1) // 2
    runs, factors, n_signal = _runs(table.tobytes(), d)
    order = np.argsort(n_frames, kind="stable")  # neighbours of about one length share a group
    lengths = np.asarray(n_frames, np.int64)[order]
    times, at = _times(lengths.tobytes(), table[:, n_signal:].tobytes())
    places = np.stack([np.asarray(starts, np.int64)[order], lengths, at, order], axis=1)
    out = np.empty((B, P * n_entries), frames.dtype) if out is None else out
    n_groups = -(-B * P // LANES)
    failed = np.zeros(n_groups, np.bool_)
    rows, columns = np.ascontiguousarray(rows, np.int64), np.asarray(columns, np.int64)
    scales = np.asarray(scales, frames.dtype)
    given = frames, places, rows, columns, scales, int(unit), times, runs, factors, d, power

    def work(groups):
        room = _workspace(d, frames.dtype, threading.get_ident())
        _kernel(*given, *room, *groups, out.reshape(-1), failed)

    n_threads = max(1, min(n_threads, n_groups))
    bounds = [n_groups * i // n_threads for i in range(n_threads + 1)]
    in_threads(work, itertools.pairwise(bounds), n_threads)
    wrong = np.zeros((B, P), np.bool_)
    if failed.any():
        wrong[order] = np.repeat(failed, LANES)[: B * P].reshape(B, P)
    return out, wrong


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
        farthest = np.abs(pivot[a:b]).max() + math.sqrt(FAR / inverse[a])
        direct = 2 * farthest * spacing * inverse[a] > FAR / max(b - a, 1)
        runs.append((int(place[a]), b - a, int(direct)))
        factors[r, :4] = pivot[a], spacing, inverse[a], amplitude[a]
        if not direct:
            factors[r, 4 : 4 + b - a - 1] = np.exp(-np.diff(pivot[a:b] ** 2) * inverse[a])
    return np.asarray(runs, np.int64).reshape(-1, 3), factors, n_signal


@functools.lru_cache(maxsize=16)  # cues share recordings and time
def _times(lengths, table):
    """z(s/T) of every frame of recordings of some lengths, end to end, (N, Z₃), and where each recording starts, (B,)."""
    lengths = np.frombuffer(lengths, np.int64)
    _, pivot, inverse, amplitude = np.frombuffer(table).reshape(4, -1)
    sizes, which = np.unique(lengths, return_inverse=True)
    time = np.concatenate([np.arange(1, n + 1) / n for n in sizes])
    return np.exp((time[:, None] - pivot) ** 2 * -inverse) * amplitude, (np.cumsum(sizes) - sizes)[which]


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
    return (d + TILE - 1) // TILE * TILE


@functools.lru_cache(maxsize=32)
def _entries(d):
    """Where entry (i, j), i ≤ j, stands in a packed lower triangle."""
    i, j = np.triu_indices(d)
    return j * (j + 1) // 2 + i


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
        V, X = part(doubles, at, _CHUNK * wide), part(doubles, at + _CHUNK * wide, W + 1)
        share = part(doubles, at + _CHUNK * wide + W + 1, 1)
        lanes, offsets = np.empty((LANES, 5), np.int64), np.empty(LANES, np.int64)
        for k in range(_CHUNK * wide):
            store(V, k, full(0.0))  # and what pads a vector stays zero
        for group in range(first_group, last_group):
            first = group * LANES
            longest = 0
            for lane in range(LANES):
                row = min(first + lane, n_rows - 1)
                b, p = row // P, row % P
                lanes[lane, :3] = places[b, :3]
                lanes[lane, 3:] = rows[p]
                offsets[lane] = (places[b, 3] * P + p) * n_entries
                longest = max(longest, places[b, 1])
                share[lane] = 1 / (places[b, 1] * math.sqrt(P))
            for k in range(wide * wide):
                store(U, k, full(0.0))
            for start in range(0, longest, _CHUNK):
                count = min(_CHUNK, longest - start)
                for s in range(count):
                    v = V[s * wide * LANES : (s * wide + d) * LANES]
                    read_frame(frames, lanes, columns, scales, unit, times, start + s, X, v, d)
                    map_frame(X, W, runs, factors, v)
                add_squares(V, count, wide, U)
            pack(U, d, wide, share, A)
            if not powered(A, d, power, room, own, starts):
                failed[group] = True
                continue
            weigh(own, d)
            _write(own, order, n_entries, out, offsets)  # lanes beyond the last row repeat it

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
