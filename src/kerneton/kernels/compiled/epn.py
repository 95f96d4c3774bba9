"""Powers of small symmetric matrices, `LANES` at a time, compiled by Numba.

``A = Q T Qᵀ`` with T tridiagonal (Householder), ``T = R diag(λ) Rᵀ`` by implicit QL, ``A^γ = Z Zᵀ`` with
``Z = Q R diag(λ^γ/2)``. Besides the lanes, these make it fast:

- no lane waits for another: in a common sweep, each lane iterates on its own eigenvalue;
- the rotations are stored and applied backwards from the diagonal, so that the last sweeps only change a corner of the matrix;
- for float32 data, T and λ are computed in float64, but R and Q are applied in float32: only the eigenvalues need the precision.

If sums are positive semi-definite up to rounding in float64 and the result is float32, T^γ is computed without λ, see `rational`.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np

from kerneton.kernels.compiled.eigen import diagonalize, reflect, rotate, tridiagonalize, unit_reflections
from kerneton.kernels.compiled.lanes import (
    EPS,
    exp2,
    groups_of,
    is_tame,
    least_square,
    part,
    positive_power,
    sum_of_squares,
    tame,
)
from kerneton.kernels.compiled.rational import reflect_both, tridiagonal_power
from kerneton.kernels.compiled.simd import (
    COLUMNS,
    LANES,
    ROW,
    absolute,
    aligned,
    columns,
    full,
    jit,
    like,
    load,
    sqrt,
    store,
    where,
)
from kerneton.kernels.compiled.subnormals import flush, restore
from kerneton.kernels.compiled.transpose import gather, scatter
from kerneton.machine.compiled.cache import cached_jit, source_number

MIN_ORDER, MAX_ORDER = 4, 128  # outside of this range LAPACK is as fast


def psd_power(A, power, out, rotations=2.0):
    """Power of a batch (B, n, n) in float32 or float64 into ``out``, contiguous and perhaps ``A`` itself.

    Returns which matrices did not converge, in practice none; they are not changed. ``rotations`` is the space for plane rotations in units
    of n²; QL needs 0.6 to 0.9.
    """
    n_batch, n, _ = A.shape
    A = np.ascontiguousarray(A).reshape(n_batch, n * n)
    out = out.reshape(A.shape)
    n_groups, rest = groups_of(A)
    failed = np.zeros(n_groups + 1, np.bool_)
    work = _workspace(n, A.dtype, int(rotations * n * n))
    _kernel(A.reshape(-1), out.reshape(-1), n_groups, n, power, *work, failed)
    _kernel(rest, rest, 1, n, power, *work, failed[n_groups:])
    out[n_groups * LANES :] = rest[: (n_batch - n_groups * LANES) * n * n].reshape(-1, n * n)
    return np.repeat(failed, LANES)[:n_batch]


def _workspace(n, dtype, limit):
    """Buffers in float64 and in the precision of the data, starts of sweeps, positions of packed entries."""
    doubles = aligned(_packed(n) + LANES + 5 * n, np.float64)
    own = aligned(own_room(n, dtype, limit), dtype)
    return doubles, own, np.empty(limit, np.int64), _packed_positions(n)


@jit
def _packed(n):
    return n * (n + 1) // 2


@functools.lru_cache(maxsize=64)
def _packed_positions(n):
    """The position of each entry of a full symmetric matrix in its packed lower triangle, (n²,)."""
    i, j = np.indices((n, n), dtype=np.int64)
    return (np.maximum(i, j) * (np.maximum(i, j) + 1) // 2 + np.minimum(i, j)).reshape(-1)


@jit
def _read(source, offset, n, A):
    """Read the lower triangles of a group; values read beyond the end of a row are overwritten by the next row."""
    for i in range(n):
        for j in range(0, i + 1, LANES):
            gather(source, offset + i * n + j, n * n, A, i * (i + 1) // 2 + j)


@jit
def _start(d, n, power, G, rows, blocks):
    """G = diag(λ^power), where λ below the rank's floor counts as zero."""
    w = columns(G)
    zero, top = full(0.0), full(0.0)
    for i in range(n):
        size = absolute(load(d, i))
        top = where(size > top, size, top)
    for k in range(rows * blocks * w):
        store(G, k, like(G, zero))
    for i in range(n):
        x = load(d, i)
        kept = x > top * (2.0 * math.sqrt(n) * EPS)
        x = positive_power(where(kept, x, full(1.0)), power)
        j = i + blocks * w - n
        store(G, (j // w * rows + i) * w + j % w, like(G, where(kept, x, zero)))


@jit
def _multiply(G, rows, blocks, F):
    """Packed F = G Gᵀ, three rows by three at a time."""
    w = columns(G)
    zero = like(G, full(0.0))
    for i in range(0, rows, 3):
        f = i * (i + 1) // 2
        g = f + i + 1
        h = g + i + 2
        for j in range(0, i + 1, 3):
            x00 = x01 = x02 = x10 = x11 = x12 = x20 = x21 = x22 = zero
            for block in range(blocks):
                a = w * (rows * block + i)
                b = w * (rows * block + j)
                for k in range(w):
                    p0, p1, p2 = load(G, a + k), load(G, a + w + k), load(G, a + 2 * w + k)
                    q0, q1, q2 = load(G, b + k), load(G, b + w + k), load(G, b + 2 * w + k)
                    x00, x01, x02 = x00 + p0 * q0, x01 + p0 * q1, x02 + p0 * q2
                    x10, x11, x12 = x10 + p1 * q0, x11 + p1 * q1, x12 + p1 * q2
                    x20, x21, x22 = x20 + p2 * q0, x21 + p2 * q1, x22 + p2 * q2
            store(F, f + j, x00)
            if j < i:
                store(F, f + j + 1, x01)
                store(F, f + j + 2, x02)
                store(F, g + j + 2, x12)
            store(F, g + j, x10)
            store(F, g + j + 1, x11)
            store(F, h + j, x20)
            store(F, h + j + 1, x21)
            store(F, h + j + 2, x22)


@jit
def _normalize(d, e, n, power):
    """T with diagonal d and off-diagonal e divided by its norm; returns the norm's power, zero for zero."""
    square = load(d, n - 1) * load(d, n - 1)
    for i in range(n - 1):
        square = square + load(d, i) * load(d, i) + 2.0 * load(e, i) * load(e, i)
    usable = square > 0.0
    norm = sqrt(where(usable, square, full(1.0)))
    inverse = 1.0 / norm
    for i in range(n):
        store(d, i, load(d, i) * inverse)
        store(e, i, load(e, i) * inverse)
    return where(usable, positive_power(norm, power), full(0.0))


@jit
def powered(A, n, power, poles, doubles, own, starts):
    """Packed matrices A of a group to the power, into the packed F at the start of ``own``; whether all converged.

    By resolvents if ``poles`` is not None, see `rational`. ``doubles`` and ``own`` are buffers of 5n and `own_room` vectors. A is
    overwritten.
    """
    n_packed = _packed(n)
    rows, blocks = (n + 2) // 3 * 3, (n + columns(own) - 1) // columns(own)
    d, e, p, q, inverse = (
        part(doubles, 0, n),
        part(doubles, n, n),
        part(doubles, 2 * n, n),
        part(doubles, 3 * n, n),
        part(doubles, 4 * n, n),
    )
    F, V, cross = (
        part(own, 0, _packed(rows)),
        part(own, _packed(rows), n_packed),
        part(own, _packed(rows) + n_packed, n),
    )
    at = n_packed + n + _packed(rows)
    G = part(own, at, rows * blocks * columns(own))
    rotations = part(own, at + rows * blocks * columns(own), 2 * len(starts))
    total = sum_of_squares(A, n_packed)
    least = least_square(own)
    usual = is_tame(total, least)
    shift = poison = full(0.0)
    if not usual:
        shift, poison = tame(A, n_packed, total, least)
        total = sum_of_squares(A, n_packed)
    state = flush()
    tridiagonalize(A, n, d, e, p, q, inverse)
    unit_reflections(A, inverse, n, V, cross)
    if poles is not None:  # decided when compiled
        scale = _normalize(d, e, n, power)
        R, X = part(own, at, ROW * n), part(own, at + ROW * n, ROW * n)
        tridiagonal_power(d, e, n, poles, scale, F, R, X)
        reflect_both(F, n, V, R, X)
    else:
        sweeps = diagonalize(d, e, n, sqrt(total) * EPS, rotations, starts, len(starts))
        if sweeps < 0:
            restore(state)
            return False
        _start(d, n, 0.5 * power, G, rows, blocks)
        rotate(G, n, rows, blocks, rotations, starts, sweeps)
        reflect(G, n, rows, blocks, V, cross)
        _multiply(G, rows, blocks, F)
    restore(state)
    if not usual:
        factor = like(
            F, exp2(shift * (0.5 * power))
        )  # in two halves, neither of which underflows: tiny results are rounded only once
        for k in range(n_packed):
            store(F, k, load(F, k) * factor * factor + like(F, poison))
    return True


def own_room(n, dtype, limit):
    """Vectors in the precision of the data that `powered` needs, for so many rotations."""
    rows = -(-n // 3) * 3  # the product at the end takes three rows at a time
    width = -(-n // COLUMNS[np.dtype(dtype).name]) * COLUMNS[np.dtype(dtype).name]
    return _packed(n) + n + _packed(rows) + max(rows * width + 2 * limit, 2 * ROW * n)


def _compile(sources):
    @cached_jit
    def kernel(source, target, n_groups, n, power, doubles, own, starts, positions, failed):
        """Groups of `LANES` matrices from the flat source to the flat target, which may be the same."""
        if not sources:
            return
        size, n_packed = n * n, _packed(n)
        A, room = part(doubles, 0, n_packed + LANES), part(doubles, n_packed + LANES, 5 * n)
        for group in range(n_groups):
            offset = group * LANES * size
            _read(source, offset, n, A)
            if not powered(A, n, power, None, room, own, starts):
                failed[group] = True
                continue
            for k in range(0, size - LANES + 1, LANES):
                scatter(own, positions, k, target, offset, size)
            scatter(own, positions, size - LANES, target, offset, size)

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
