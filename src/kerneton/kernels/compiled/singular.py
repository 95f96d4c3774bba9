"""Left singular vectors, `LANES` matrices at a time: ``M = L Q`` (Householder) and one-sided Jacobi on the columns of L.

These become ``uᵢ σᵢ``. The eigenvectors of ``M Mᵀ`` are cheaper, but lose singular values below 1e-8 of the largest. After a power of 0.36
their core entries still matter: errors of DCK's tensors were 1e-3 (2e-6 after a power of 0.75).
"""

from __future__ import annotations

from kerneton.kernels.compiled.eigen import diagonalize, reflect, rotate, tridiagonalize, unit_reflections
from kerneton.kernels.compiled.lanes import EPS, part, sum_of_squares
from kerneton.kernels.compiled.simd import (
    absolute,
    any_lane,
    columns,
    copysign,
    full,
    jit,
    load,
    sqrt,
    store,
    where,
)

_TINY = 1e-280  # a squared length that counts as zero; tensors come scaled to norms 1e-100..1e100


@jit
def left_vectors(M, m, k, total, U, T, S, inverses, max_sweeps):
    """Left singular vectors of M (m, k) as columns of U, one after the other; M is overwritten.

    Returns their number, negative without convergence. ``M = L Q``, ``L = Q₂ R``, ``R = L₃ Q₃``, ``U = Q₂ U₃``: the second and third step
    make L more diagonal and cost a third of the Jacobi sweeps that they save.
    """
    n = _triangularize(
        M, m, k, T, inverses
    )  # columns of L are rows of its transpose, which the next step takes
    _triangularize(T, n, m, S, inverses)
    for i in range(n):
        store(U, i, load(inverses, i))  # of the reflections of Q₂, which stay in T
    _triangularize(S, n, n, M, inverses)
    converged = _orthogonalize(M, n, total, inverses, max_sweeps)
    for i in range(n):
        store(inverses, i, load(U, i))
    for j in range(n):
        for r in range(m):
            store(U, j * m + r, load(M, j * n + r) if r < n else full(0.0))
    for i in range(n - 1, -1, -1):
        for j in range(n):
            dot = full(0.0)
            for r in range(i, m):
                dot = dot + load(T, i * m + r) * load(U, j * m + r)
            dot = dot * load(inverses, i)
            for r in range(i, m):
                store(U, j * m + r, load(U, j * m + r) - dot * load(T, i * m + r))
    return n if converged else -1


@jit
def gram_vectors(M, m, k, U, room, starts):
    """The same as eigenvectors of ``M Mᵀ``, for m > 3; ``room`` is a buffer of `gram_room` vectors, ``starts`` of 2m²."""
    n_packed, w = m * (m + 1) // 2, columns(U)
    blocks = (m + w - 1) // w
    A, V, G = (
        part(room, 0, n_packed),
        part(room, n_packed, n_packed),
        part(room, 2 * n_packed, m * blocks * w),
    )
    at = 2 * n_packed + m * blocks * w
    d, e, inverse = part(room, at, m), part(room, at + m, m), part(room, at + 2 * m, m)
    p, q, rotations = (
        part(room, at + 3 * m, m),
        part(room, at + 4 * m, m),
        part(room, at + 5 * m, 2 * len(starts)),
    )
    for i in range(m):
        for j in range(0, i + 1, 3):
            a, b, c = j * k, min(j + 1, i) * k, min(j + 2, i) * k
            x0 = x1 = x2 = full(0.0)
            for r in range(k):
                x = load(M, i * k + r)
                x0, x1, x2 = x0 + x * load(M, a + r), x1 + x * load(M, b + r), x2 + x * load(M, c + r)
            at = i * (i + 1) // 2
            store(A, at + min(j + 2, i), x2)
            store(A, at + min(j + 1, i), x1)
            store(A, at + j, x0)
    norm = sqrt(sum_of_squares(A, n_packed))
    tridiagonalize(A, m, d, e, p, q, inverse)
    sweeps = diagonalize(d, e, m, norm * EPS, rotations, starts, len(starts))
    if sweeps < 0:
        return -1
    for i in range(m * blocks * w):
        store(G, i, full(0.0))
    first = blocks * w - m
    for j in range(m):
        store(G, ((first + j) // w * m + j) * w + (first + j) % w, full(1.0))
    rotate(G, m, m, blocks, rotations, starts, sweeps)
    unit_reflections(A, inverse, m, V, p)
    reflect(G, m, m, blocks, V, p)
    for j in range(m):
        for r in range(m):
            store(U, j * m + r, load(G, ((first + j) // w * m + r) * w + (first + j) % w))
    return m


def gram_room(m):
    """Vectors that `gram_vectors` needs."""
    return 6 * m * m + 7 * m


@jit
def _triangularize(M, m, k, L, inverses):
    """``M = L Q``: columns of L, each of length m, one after the other; row i of M becomes reflection vᵢ.

    ``Q = Hₙ₋₁ ... H₀`` with ``Hᵢ = I - vᵢ vᵢᵀ · inverses[i]``. Returns n, the number of columns.
    """
    n = min(m, k)
    for i in range(n):
        row = i * k
        square = full(0.0)
        for q in range(i, k):
            x = load(M, row + q)
            square = square + x * x
        x = load(M, row + i)
        folded = -copysign(sqrt(square), x)
        nothing = square < _TINY
        inverse = where(nothing, full(0.0), 1.0 / (square - x * folded))
        store(inverses, i, inverse)
        store(M, row + i, x - folded)
        for r in range(i):
            store(L, i * m + r, full(0.0))
        store(L, i * m + i, where(nothing, full(0.0), folded))
        for r in range(i + 1, m - 2, 3):
            r0, r1, r2 = r * k, (r + 1) * k, (r + 2) * k
            y0 = y1 = y2 = full(0.0)
            for q in range(i, k):
                v = load(M, row + q)
                y0, y1, y2 = y0 + v * load(M, r0 + q), y1 + v * load(M, r1 + q), y2 + v * load(M, r2 + q)
            y0, y1, y2 = y0 * inverse, y1 * inverse, y2 * inverse
            for q in range(i, k):
                v = load(M, row + q)
                store(M, r0 + q, load(M, r0 + q) - v * y0)
                store(M, r1 + q, load(M, r1 + q) - v * y1)
                store(M, r2 + q, load(M, r2 + q) - v * y2)
        for r in range(m - (m - i - 1) % 3, m):
            y = full(0.0)
            for q in range(i, k):
                y = y + load(M, row + q) * load(M, r * k + q)
            y = y * inverse
            for q in range(i, k):
                store(M, r * k + q, load(M, r * k + q) - load(M, row + q) * y)
        for r in range(i + 1, m):
            store(L, i * m + r, load(M, r * k + i))
    return n


@jit
def _orthogonalize(L, n, total, squares, max_sweeps):
    """One-sided Jacobi on n columns of length n, then scaling to unit length; columns of noise become zero.

    Returns whether it converged.
    """
    noise = total * (EPS * EPS)
    converged = n == 1
    for _ in range(max_sweeps):
        if converged:
            break
        converged = True
        for j in range(n):
            store(squares, j, sum_of_squares(part(L, j * n, n), n))
        for i in range(n - 1):
            for j in range(i + 1, n):
                converged &= _rotate(L, n, i, j, noise, squares)
    for j in range(n):
        square = sum_of_squares(part(L, j * n, n), n)
        factor = where(square > noise, 1.0 / sqrt(square), full(0.0))
        for r in range(n):
            store(L, j * n + r, load(L, j * n + r) * factor)
    return converged


@jit
def _rotate(L, n, i, j, noise, squares):
    """Make columns i and j orthogonal; returns whether they already were, very nearly, in every lane.

    Convergence is quadratic: after a sweep whose largest cosine is 1e-12, all columns are orthogonal.
    """
    dot = full(0.0)
    for r in range(n):
        dot = dot + load(L, i * n + r) * load(L, j * n + r)
    a, b = load(squares, i), load(squares, j)
    due = (dot * dot > a * b * (n * EPS) ** 2) & (a > noise) & (b > noise)
    if not any_lane(due):
        return True
    nearly = not any_lane(due & (dot * dot > a * b * 1e-24))
    twice, gap = dot + dot, b - a
    t = copysign(twice, twice * gap) / (absolute(gap) + sqrt(gap * gap + twice * twice))
    t = where(due, t, full(0.0))
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    for r in range(n):
        x, y = load(L, i * n + r), load(L, j * n + r)
        store(L, i * n + r, c * x - s * y)
        store(L, j * n + r, s * x + c * y)
    store(squares, i, a - t * dot)
    store(squares, j, b + t * dot)
    return nearly
