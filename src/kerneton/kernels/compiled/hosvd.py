"""Power normalisation of tensor cores, `LANES` tensors at a time, compiled by Numba.

The factors are the left singular vectors of the three unfoldings, see `singular`.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from kerneton.kernels.compiled.lanes import (
    EPS,
    exp2,
    groups_of,
    is_tame,
    part,
    positive_power,
    sum_of_squares,
    tame,
)
from kerneton.kernels.compiled.simd import (
    LANES,
    absolute,
    aligned,
    copysign,
    full,
    jit,
    like,
    load,
    store,
    where,
)
from kerneton.kernels.compiled.singular import gram_room, gram_vectors, left_vectors
from kerneton.kernels.compiled.transpose import gather, scatter
from kerneton.machine.compiled.cache import cached_jit, source_number

MIN_SIZE, MAX_SIZE = 16, 16384  # of a tensor; larger ones leave the caches
_GRAM = 0.75  # for larger powers, the loss of squaring (1e-8 of the largest) does not show in float32


def hosvd_power(X, power, entry_power, max_sweeps=40):
    """EPN of a batch (B, a, b, c) in float32 or float64, and which tensors did not converge (in practice none)."""
    n_batch, *shape = X.shape
    size = int(np.prod(shape))
    X = np.ascontiguousarray(X).reshape(n_batch, size)
    out = np.empty_like(X)
    n_groups, rest = groups_of(X)
    failed = np.zeros(n_groups + 1, np.bool_)
    side = max(shape)
    by_gram = X.dtype == np.float32 and power >= _GRAM
    widest = max(m for m in shape if m * m <= size) if by_gram else 0
    doubles = aligned(3 * size + LANES + 5 * side * side + side + gram_room(widest), np.float64)
    work = (doubles, aligned(size, X.dtype), _in_order(size), np.empty(2 * widest**2, np.int64))
    arguments = (*shape, float(power), float(entry_power), max_sweeps, *work)
    _kernel(X.reshape(-1), out.reshape(-1), n_groups, *arguments, failed)
    _kernel(rest, rest, 1, *arguments, failed[n_groups:])
    out[n_groups * LANES :] = rest[: (n_batch - n_groups * LANES) * size].reshape(-1, size)
    return out.reshape(n_batch, *shape), np.repeat(failed, LANES)[:n_batch]


@functools.lru_cache(maxsize=16)
def _in_order(size):
    return np.arange(size)


@jit
def _unfold(X, outer, m, inner, M):
    """Tensor (outer, m, inner) → matrix (m, outer·inner)."""
    for o in range(outer):
        for r in range(m):
            for i in range(inner):
                store(M, r * outer * inner + o * inner + i, load(X, (o * m + r) * inner + i))


@jit
def _contract(X, outer, k, inner, U, across, along, n_out, Y):
    """Y[o, q, i] = Σ_r U[q·across + r·along] X[o, r, i]: a tensor times a matrix in its middle mode.

    Two positions by three results at a time; at the end the last ones are computed again.
    """
    last = outer * inner - 1
    for q in range(0, n_out, 3):
        q1, q2 = min(q + 1, n_out - 1), min(q + 2, n_out - 1)
        for t in range(0, last + 1, 2):
            t1 = min(t + 1, last)
            i0, i1 = t // inner * inner * k + t % inner, t1 // inner * inner * k + t1 % inner
            y00 = y01 = y02 = y10 = y11 = y12 = full(0.0)
            for r in range(k):
                x0, x1 = load(X, i0 + r * inner), load(X, i1 + r * inner)
                u0 = load(U, q * across + r * along)
                u1 = load(U, q1 * across + r * along)
                u2 = load(U, q2 * across + r * along)
                y00, y01, y02 = y00 + u0 * x0, y01 + u1 * x0, y02 + u2 * x0
                y10, y11, y12 = y10 + u0 * x1, y11 + u1 * x1, y12 + u2 * x1
            j0 = t // inner * inner * n_out + t % inner
            j1 = t1 // inner * inner * n_out + t1 % inner
            store(Y, j0 + q * inner, y00)
            store(Y, j0 + q1 * inner, y01)
            store(Y, j0 + q2 * inner, y02)
            store(Y, j1 + q * inner, y10)
            store(Y, j1 + q1 * inner, y11)
            store(Y, j1 + q2 * inner, y12)


@jit
def _signed_power(X, size, relative_floor, power):
    """x ← sgn(x)·|x|^power; entries under a share of the largest count as zero."""
    top = full(0.0)
    for k in range(size):
        x = absolute(load(X, k))
        top = where(x > top, x, top)
    floor = top * relative_floor
    for k in range(size):
        x = load(X, k)
        kept = absolute(x) > floor
        y = positive_power(where(kept, absolute(x), full(1.0)), power)
        store(X, k, where(kept, copysign(y, x), full(0.0)))


def _compile(sources):
    @cached_jit
    def kernel(
        source, target, n_groups, a, b, c, power, entry_power, max_sweeps, doubles, own, order, starts, failed
    ):
        """Groups of `LANES` tensors from the flat source to the flat target, which may be the same."""
        if not sources:
            return
        size, side = a * b * c, max(a, b, c)
        X, Y = part(doubles, 0, size + LANES), part(doubles, size + LANES, size)
        M = part(doubles, 2 * size + LANES, size)
        first = 3 * size + LANES
        S, T = part(doubles, first, side * side), part(doubles, first + side * side, side * side)
        inverses = part(doubles, first + 2 * side * side, side)
        factors = part(doubles, first + 2 * side * side + side, 3 * side * side)
        room = doubles[(first + 5 * side * side + side) * LANES :]
        modes = ((1, a, b * c), (a, b, c), (a * b, c, 1))  # sizes before, in and after each mode
        ranks = np.empty(3, np.int64)
        for group in range(n_groups):
            offset = group * LANES * size
            for k in range(0, size, LANES):
                gather(source, offset + k, size, X, k)
            total = sum_of_squares(X, size)
            usual = is_tame(total, 1e-200)
            shift = poison = full(0.0)
            if not usual:
                shift, poison = tame(X, size, total, 1e-200)
                total = sum_of_squares(X, size)
            for mode in range(3):
                outer, m, inner = modes[mode]
                U = part(factors, mode * side * side, side * side)
                _unfold(X, outer, m, inner, M)
                k = outer * inner
                if 3 < m <= k and len(starts):
                    ranks[mode] = gram_vectors(M, m, k, U, room, starts[: 2 * m * m])
                else:
                    ranks[mode] = left_vectors(M, m, k, total, U, S, T, inverses, max_sweeps)
            if ranks.min() < 0:
                failed[group] = True
                continue
            now, then, inner = X, Y, 1
            for mode in range(2, -1, -1):  # the core: M and Y are used alternately
                outer, m, _ = modes[mode]
                U = part(factors, mode * side * side, side * side)
                _contract(now, outer, m, inner, U, m, 1, ranks[mode], then)
                now, then = then, M if mode == 2 else now
                inner *= ranks[mode]
            _signed_power(now, inner, side * EPS, power)
            for mode in range(3):
                outer, m, _ = modes[mode]
                U = part(factors, mode * side * side, side * side)
                inner //= ranks[mode]
                _contract(now, outer, ranks[mode], inner, U, 1, m, m, then)
                now, then = then, now
            if entry_power != 1:
                _signed_power(now, size, 0.0, entry_power)
            factor = exp2(shift * (0.5 * power * entry_power))
            for k in range(size):
                store(own, k, like(own, load(now, k) * factor * factor + poison))
            for k in range(0, size - LANES + 1, LANES):
                scatter(own, order, k, target, offset, size)
            scatter(own, order, size - LANES, target, offset, size)

    return kernel


_kernel = _compile(source_number(Path(__file__).parent))
