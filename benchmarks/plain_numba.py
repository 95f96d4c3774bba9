"""Plain Numba compared with vectors as values (`kerneton.kernels.compiled.simd`), on two steps of EPN.

    python benchmarks/plain_numba.py [--order 32] [--repeats 15] [--json FILE]

The same algorithms twice: many matrices at a time, as vectors that stay in registers from step to step; and in plain Numba, one matrix at a
time, whose rows LLVM vectorises. (Loops over lanes in plain Numba are even slower.) Tridiagonalisation is in float64; the rotations are
applied in float32 and float64. Times are µs per matrix, medians of alternating repeats.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
from numba import njit

from kerneton.kernels.compiled import eigen
from kerneton.kernels.compiled.simd import COLUMNS, LANES, aligned

plain = njit(nogil=True, error_model="numpy", fastmath=True)
_REPEATS_INSIDE = 50


@plain
def tridiagonalize(A, n, d, e, p, q):
    """As `eigen.tridiagonalize` for one matrix A (n, n), of which the lower triangle is used."""
    for i in range(n - 1, 0, -1):
        u = A[i]
        d[i] = u[i]
        if i == 1:
            e[0], d[0] = u[0], A[0, 0]
            break
        square = 0.0
        for c in range(i):
            square += u[c] * u[c]
        folded = -np.copysign(np.sqrt(square), u[i - 1])
        k = 1.0 / (square - u[i - 1] * folded) if square > 1e-280 else 0.0
        e[i - 1] = folded
        u[i - 1] -= folded
        for r in range(i):
            p[r] = 0.0
        for r in range(i):
            x, total = u[r], A[r, r] * u[r]
            for c in range(r):
                total += A[r, c] * u[c]
                p[c] += A[r, c] * x
            p[r] += total
        dot = 0.0
        for r in range(i):
            dot += p[r] * u[r]
        for r in range(i):
            q[r] = p[r] * k - 0.5 * dot * k * k * u[r]
        for r in range(i):
            x, y = u[r], q[r]
            for c in range(r + 1):
                A[r, c] -= x * q[c] + y * u[c]


@plain
def rotate(G, n, rotations, starts, sweeps):
    """As `eigen.rotate` for one matrix G (n, n): rows turned in the planes (i, i + 1), last sweep first."""
    at = 0
    for k in range(sweeps):
        at += n - 1 - starts[k]
    for k in range(sweeps - 1, -1, -1):
        for i in range(starts[k], n - 1):
            at -= 1
            c, s = rotations[at, 0], rotations[at, 1]
            for j in range(n):
                x, y = G[i, j], G[i + 1, j]
                G[i, j] = c * x + s * y
                G[i + 1, j] = c * y - s * x


@njit(nogil=True)
def _repeat_ours(source, A, n, d, e, p, q, inverse):
    for _ in range(_REPEATS_INSIDE):
        A[:] = source
        eigen.tridiagonalize(A, n, d, e, p, q, inverse)


@njit(nogil=True)
def _repeat_plain(source, A, n, d, e, p, q):
    for _ in range(_REPEATS_INSIDE):
        for lane in range(LANES):
            A[:] = source[lane]
            tridiagonalize(A, n, d, e, p, q)


@njit(nogil=True)
def _rotate_ours(G, n, rows, blocks, rotations, starts, sweeps):
    for _ in range(_REPEATS_INSIDE):
        eigen.rotate(G, n, rows, blocks, rotations, starts, sweeps)


@njit(nogil=True)
def _rotate_plain(G, n, rotations, starts, sweeps):
    for _ in range(_REPEATS_INSIDE):
        for lane in range(LANES):
            rotate(G[lane], n, rotations[lane], starts, sweeps)


def measure(order, repeats):
    rng = np.random.default_rng(0)
    n, n_packed = order, order * (order + 1) // 2
    v = np.exp(-(rng.normal(size=(LANES, 3 * n, n)) ** 2))
    i, j = np.tril_indices(n)
    matrices = v.swapaxes(1, 2) @ v  # (LANES, n, n)
    packed = np.ascontiguousarray(matrices[:, i, j].T)  # (n_packed, LANES)
    ours, calls, found = aligned(n_packed, np.float64), {}, {}
    room = [aligned(n, np.float64) for _ in range(5)]
    plain_room = [np.zeros(n) for _ in range(4)]
    calls["tridiagonal, vectors"] = lambda: _repeat_ours(packed.reshape(-1), ours, n, *room)
    calls["tridiagonal, plain"] = lambda: _repeat_plain(matrices, np.empty((n, n)), n, *plain_room)
    sweeps = int(1.6 * n)  # as QL takes, from the first row or a little below it
    starts = np.sort(rng.integers(0, n - 1, sweeps))
    angles = rng.uniform(0, 6, (int((n - 1 - starts).sum()), LANES))
    for dtype in (np.float32, np.float64):
        turns = np.stack([np.cos(angles), np.sin(angles)], axis=1).reshape(-1, LANES).astype(dtype)
        rotations = aligned(len(turns), dtype)
        rotations[:] = turns.reshape(-1)
        w = COLUMNS[np.dtype(dtype).name]
        rows, blocks = -(-n // 3) * 3, -(-n // w)
        G, H = aligned(rows * blocks * w, dtype), np.zeros((LANES, n, n), dtype)
        G[:] = 0
        each = np.ascontiguousarray(turns.reshape(-1, 2, LANES).transpose(2, 0, 1))
        name = np.dtype(dtype).name
        calls[f"rotations {name}, vectors"] = lambda G=G, r=rotations, rows=rows, blocks=blocks: _rotate_ours(
            G, n, rows, blocks, r, starts, sweeps
        )
        calls[f"rotations {name}, plain"] = lambda H=H, t=each: _rotate_plain(H, n, t, starts, sweeps)
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - start) / _REPEATS_INSIDE / LANES * 1e6)
    found = {name: statistics.median(t) for name, t in times.items()}
    last = np.abs(room[1].reshape(n, LANES)[: n - 1, -1])  # of the last matrix, which the plain room holds
    return found, float(np.abs(last - np.abs(plain_room[1][: n - 1])).max() / plain_room[0].max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--order", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    found, off = measure(options.order, options.repeats)
    for name in list(found)[::2]:
        stem = name.rpartition(",")[0]
        vectors, loops = found[name], found[f"{stem}, plain"]
        print(f"{stem:20s} vectors {vectors:6.2f} µs   plain {loops:6.2f} µs   {loops / vectors:.1f} times")
    print(f"largest difference of off-diagonals {off:.0e}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=2)


if __name__ == "__main__":
    main()
