"""Symmetric eigenproblems, `LANES` at a time: Householder reduction, implicit QL, and the transformation back.

Matrices are packed lower triangles: row i starts at vector i(i+1)/2. ``A = Q T Qᵀ`` with T tridiagonal, and
``T = R diag(λ) Rᵀ``. Neither Q nor R is formed: Q stays as reflections, R as plane rotations, and both are applied
to a matrix G that is cut into column blocks, G[i, j] at vector (j // w · rows + i) · w + j % w for blocks of w
columns. The columns fill the last block to its end; the first block may begin with zeros.
"""

from __future__ import annotations

from kerneton.kernels.compiled.simd import (
    absolute,
    any_lane,
    columns,
    copysign,
    full,
    jit,
    like,
    load,
    load_block,
    load_repeated,
    sqrt,
    store,
    where,
    zero_block,
)

_TINY = 1e-280  # a squared length that counts as zero; matrices come scaled to norms 1e-100..1e100


@jit
def tridiagonalize(A, n, d, e, p, q, inverse):
    """Packed A → diagonal d, off-diagonal e; row i of A becomes reflection vᵢ, inverse[i] = 2 / |vᵢ|².

    From the last row up. The update ``A - v qᵀ - q vᵀ`` by one reflection and the product ``p = A u`` that the next
    needs share one pass over A: row m-1 is updated first, since it holds u.
    """
    last = n - 1
    v = u = last * n // 2
    store(d, last, load(A, u + last))
    square = full(0.0)
    for c in range(last):
        x = load(A, u + c)
        square = square + x * x
        store(q, c, full(0.0))  # nothing to update by in the first pass
    _reflection(A, last, square, e, inverse)
    for m in range(last, 0, -1):
        update_multiply(A, m, A, v, u, p, q)
        if m == 1:
            break
        k = load(inverse, m)
        dot = full(0.0)
        for r in range(m):
            dot = dot + load(p, r) * load(A, u + r)
        dot = dot * k * k * 0.5
        for r in range(m):
            store(q, r, load(p, r) * k - dot * load(A, u + r))
        v, r = u, m - 1
        u = r * (r + 1) // 2
        vr, qr, square = load(A, v + r), load(q, r), full(0.0)
        for c in range(r):
            x = load(A, u + c) - vr * load(q, c) - qr * load(A, v + c)
            store(A, u + c, x)
            square = square + x * x
        store(d, r, load(A, u + r) - 2.0 * vr * qr)
        if r == 1:
            store(e, 0, load(A, u))
            store(inverse, 1, full(0.0))
            store(d, 0, load(A, 0) - 2.0 * load(A, v) * load(q, 0))
            break
        _reflection(A, r, square, e, inverse)


@jit
def _reflection(A, i, square, e, inverse):
    """The reflection that folds row i (i elements, their sum of squares given) into its last element."""
    at = i * (i + 1) // 2 + i - 1
    x = load(A, at)
    folded = -copysign(sqrt(square), x)
    nothing = square < _TINY
    store(A, at, x - folded)
    store(e, i - 1, where(nothing, full(0.0), folded))
    store(inverse, i, where(nothing, full(0.0), 1.0 / (square - x * folded)))


@jit
def update_multiply(A, m, V, v, u, p, q):
    """Rows 0..m-1 of A less v qᵀ + q vᵀ, and p = A u, for v and u in V; two rows at a time to use each loaded value twice."""
    for r in range(0, m - 1, 2):
        a = r * (r + 1) // 2
        b = a + r + 1
        v0, v1, q0, q1 = load(V, v + r), load(V, v + r + 1), load(q, r), load(q, r + 1)
        u0, u1 = load(V, u + r), load(V, u + r + 1)
        sum0 = sum1 = like(A, full(0.0))
        for c in range(r):
            vc, qc, uc = load(V, v + c), load(q, c), load(V, u + c)
            x0 = load(A, a + c) - v0 * qc - q0 * vc
            x1 = load(A, b + c) - v1 * qc - q1 * vc
            store(A, a + c, x0)
            store(A, b + c, x1)
            sum0 = sum0 + x0 * uc
            sum1 = sum1 + x1 * uc
            store(p, c, load(p, c) + x0 * u0 + x1 * u1)
        x0 = load(A, a + r) - 2.0 * v0 * q0
        side = load(A, b + r) - v1 * q0 - q1 * v0
        x1 = load(A, b + r + 1) - 2.0 * v1 * q1
        store(A, a + r, x0)
        store(A, b + r, side)
        store(A, b + r + 1, x1)
        store(p, r, sum0 + x0 * u0 + side * u1)
        store(p, r + 1, sum1 + side * u0 + x1 * u1)
    if m % 2:
        r = m - 1
        a = r * (r + 1) // 2
        v0, q0, u0 = load(V, v + r), load(q, r), load(V, u + r)
        sum0 = like(A, full(0.0))
        for c in range(r):
            x0 = load(A, a + c) - v0 * load(q, c) - q0 * load(V, v + c)
            store(A, a + c, x0)
            sum0 = sum0 + x0 * load(V, u + c)
            store(p, c, load(p, c) + x0 * u0)
        x0 = load(A, a + r) - 2.0 * v0 * q0
        store(A, a + r, x0)
        store(p, r, sum0 + x0 * u0)


@jit
def diagonalize(d, e, n, tolerance, rotations, starts, limit):
    """Implicit QL with Wilkinson's shift: d becomes λ. Returns the number of sweeps, or -1 without convergence.

    Sweep k rotates the planes (i, i+1) for i = n-2 down to starts[k]; their cosines and sines alternate in
    ``rotations``. An off-diagonal element within the tolerance cuts the matrix, separately in each lane: its plane is not rotated and the
    bulge chase starts again above it, so every sweep works on the first eigenvalue that is still missing in each lane.
    """
    zero, one = full(0.0), full(1.0)
    start = sweeps = used = 0
    while True:
        while start < n - 1 and not any_lane(absolute(load(e, start)) > tolerance):
            start += 1
        if start == n - 1:
            return sweeps
        if used + n - 1 - start > limit:
            return -1
        sigma = _shift(d, e, n, start, tolerance)
        below = load(d, n - 1)
        g = below - sigma
        c = s = one
        p, fresh = zero, zero < one
        for i in range(n - 2, start - 1, -1):
            here, side = load(d, i), load(e, i)
            cut = absolute(side) <= tolerance
            f = s * side
            b = c * side
            square = f * f + g * g
            skip = cut | (square < _TINY)
            length = sqrt(square)
            inverse = 1.0 / length
            s = where(skip, zero, f * inverse)
            c = where(skip, one, g * inverse)
            store(rotations, 2 * used, like(rotations, c))
            store(rotations, 2 * used + 1, like(rotations, s))
            used += 1
            diagonal = below - p
            r = (here - diagonal) * s + 2.0 * c * b
            p = s * r
            store(d, i + 1, diagonal + p)
            store(e, i + 1, where(fresh, zero, where(cut, g, length)))
            g = where(cut, here - sigma, c * r - b)
            s = where(cut, one, s)
            fresh = cut
            below = here
        store(d, start, below - p)
        store(e, start, where(fresh, zero, g))
        starts[sweeps] = start
        sweeps += 1


@jit
def _shift(d, e, n, start, tolerance):
    """The eigenvalue, nearer to the first diagonal element, of each lane's first 2 × 2 block that is not diagonal."""
    upper, side, lower = load(d, start), load(e, start), load(d, start + 1)
    cut = absolute(side) <= tolerance
    i = start + 1
    while i < n - 1 and any_lane(cut):
        upper, lower = where(cut, load(d, i), upper), where(cut, load(d, i + 1), lower)
        side = where(cut, load(e, i), side)
        cut = cut & (absolute(side) <= tolerance)
        i += 1
    side = where(cut, full(1.0), side)  # lanes that are done
    half = (lower - upper) * 0.5 / side
    return upper - side / (half + copysign(sqrt(half * half + 1.0), half))


@jit
def rotate(G, n, rows, blocks, rotations, starts, sweeps):
    """G ← R G for a lower triangular G, column block by column block, last sweep first.

    Column j is zero above row j until a sweep starts above that row, so the sweeps after that one skip it.
    """
    w = columns(G)
    end = 0
    for k in range(sweeps):
        end += n - 1 - starts[k]
    for block in range(blocks - 1, -1, -1):
        rightmost = n - 1 - (blocks - 1 - block) * w
        while sweeps > 0 and starts[sweeps - 1] > rightmost:
            sweeps -= 1
            end -= n - 1 - starts[sweeps]
        at = end
        for k in range(sweeps - 1, -1, -1):
            here = w * (rows * block + starts[k])
            g = load_block(G, here)
            for _ in range(starts[k], n - 1):
                at -= 1
                c, s = load_repeated(rotations, 2 * at), load_repeated(rotations, 2 * at + 1)
                x = load_block(G, here + w)
                store(G, here, c * g + s * x)
                g = c * x - s * g
                here += w
            store(G, here, g)


@jit
def unit_reflections(A, inverse, n, V, cross):
    """Reflections scaled to ``I - v vᵀ`` in the precision of V, a zero after each, and vᵢ·vᵢ₊₁ of those that `reflect` joins."""
    for i in range(1, n):
        row = i * (i + 1) // 2
        factor = sqrt(load(inverse, i))
        dot = full(0.0)
        for r in range(i):
            x = load(A, row + r) * factor
            store(A, row + r, x)
            store(V, row + r, like(V, x))
            if r < i - 1:
                dot = dot + x * load(A, row - i + r)
        store(V, row + i, like(V, full(0.0)))
        store(cross, i - 1, like(cross, dot))


@jit
def reflect(G, n, rows, blocks, V, cross):
    """G ← Q G, column block by column block, two reflections at a time.

    The dot products y, z with the next two reflections are computed while the last two are applied. For odd n, the first reflection is the
    identity.
    """
    w = columns(G)
    first = 2 - n % 2
    for block in range(blocks):
        base = w * rows * block
        a = first * (first + 1) // 2
        b = a + first + 1
        y = z = zero_block(G)
        for r in range(first + 1):
            x = load_block(G, base + w * r)
            if r < first:
                y = y + load_repeated(V, a + r) * x
            z = z + load_repeated(V, b + r) * x
        for i in range(first, n - 1, 2):
            z = z - load_repeated(cross, i) * y
            c = b + i + 2
            d = c + i + 3
            here = base
            if i == n - 2:
                for r in range(i):
                    x = load_block(G, here) - load_repeated(V, a + r) * y - load_repeated(V, b + r) * z
                    store(G, here, x)
                    here += w
                store(G, here, load_block(G, here) - load_repeated(V, b + i) * z)
                break
            next_y = next_z = zero_block(G)
            for r in range(i):
                x = load_block(G, here) - load_repeated(V, a + r) * y - load_repeated(V, b + r) * z
                store(G, here, x)
                next_y = next_y + load_repeated(V, c + r) * x
                next_z = next_z + load_repeated(V, d + r) * x
                here += w
            x = load_block(G, here) - load_repeated(V, b + i) * z
            store(G, here, x)
            next_y = next_y + load_repeated(V, c + i) * x
            next_z = next_z + load_repeated(V, d + i) * x
            x = load_block(G, here + w)
            y = next_y + load_repeated(V, c + i + 1) * x
            z = next_z + load_repeated(V, d + i + 1) * x
            z = z + load_repeated(V, d + i + 2) * load_block(G, here + 2 * w)
            a, b = c, d
