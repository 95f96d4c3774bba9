"""Powers of tridiagonal matrices by a sum of resolvents, `LANES` at a time, and the transformation back.

    T^γ ≈ Σ_k w_k T (T + s_k)⁻¹ = Σ_k w_k - Σ_k w_k s_k (T + s_k)⁻¹

No eigenvalues are computed: each entry of an inverse is its neighbour times a factor. All w_k and s_k are positive, and the smallest s_k is
above the rounding errors of T, so these become zero, as in `power_norm`.
"""

from __future__ import annotations

import functools

import numpy as np

from kerneton.kernels.compiled.eigen import update_multiply
from kerneton.kernels.compiled.simd import ROW, fold, full, jit, like, load, load_row, store, where
from kerneton.machine.threads import one_blas_thread

_SMALLEST = 2e-15  # of the matrix's norm: a pole above rounding errors
# Powers: below the first, rounding errors of eigenvalues would be visible, above the second those of the sum.
_LOWEST, _HIGHEST = 0.35, 0.5


@functools.lru_cache(maxsize=16)
@one_blas_thread()  # the same numbers on any number of cores
def poles_of(power, dtype):
    """s_k and w_k s_k, (n, 2), for matrices of norm 1; None if they would not be accurate enough, as for float64.

    Best approximations of x^γ on [0, 1] have poles at -1/sinh²(v/2) with v about 2π²/(L - γv) apart; L is chosen so that there are ``ROW``
    poles.
    Gauss-Newton steps move them to the least-squares solution, whose error is 3e-6.
    """
    if dtype != np.float32 or not _LOWEST <= power <= _HIGHEST:
        return None
    rate, last = 4 * np.pi**2 * power, ROW + 0.5
    v = (np.sqrt(rate * last) - np.sqrt(rate * (last - np.arange(ROW) - 0.775 + power / 2))) / power
    v *= min(1, 2 * np.arcsinh(_SMALLEST**-0.5) / v[-1])
    s = 1 / np.sinh(v / 2) ** 2
    x = np.geomspace(1.5 * _SMALLEST, 1, 400)[:, None]
    weight, target = np.where(x > 0.3, 3, 1), x[:, 0] ** power  # where the largest eigenvalue is
    for _ in range(4):
        shares = x / (x + s)
        w = np.linalg.lstsq(shares * weight, target * weight[:, 0], rcond=None)[0]
        found = np.stack([s, w * s], axis=1)
        slopes = np.concatenate([shares, -w * s * shares / (x + s)], axis=1)
        step = np.linalg.lstsq(slopes * weight, (target - shares @ w) * weight[:, 0], rcond=1e-8)[0][ROW:]
        s = np.maximum(s * np.exp(step), _SMALLEST)
    return found


@jit
def tridiagonal_power(d, e, n, poles, scale, F, R, X):
    """Packed F = T^γ times each lane's scale, from the diagonal d and off-diagonal e of T with norm 1; R and X are buffers of n rows.

    An entry of an inverse is its right neighbour times a ratio: X[j, i] = r_i X[j, i+1], and X[j, j] = 1/D_j + r_j² X[j+1, j+1].
    """
    total = 0.0
    for k in range(0, len(poles), 4):
        _factorize(d, e, n, poles[k : k + 4], scale, R, X, k)
        for i in range(4):
            total += poles[k + i, 1] / poles[k + i, 0]
    start = like(F, scale * total)
    diagonal = load_row(X, ROW * (n - 1))
    for j in range(n - 1, -1, -1):
        at = j * (j + 1) // 2
        store(F, at + j, start + fold(diagonal))
        x = diagonal
        for i in range(j - 1, -1, -1):
            x = x * load_row(R, ROW * i)
            store(F, at + i, fold(x))
        if j > 0:
            ratio = load_row(R, ROW * (j - 1))
            diagonal = load_row(X, ROW * (j - 1)) + ratio * ratio * diagonal


@jit
def _factorize(d, e, n, poles, scale, R, X, k):
    """``T + s = L D Lᵀ`` for four s: R gets the negative lower diagonal of L and X gets -scale w s / D, from column k on.

    Pivots of a positive semi-definite T are at least s, whatever the rounding. One division is enough for four.
    """
    s0, s1, s2, s3 = poles[0, 0], poles[1, 0], poles[2, 0], poles[3, 0]
    c0, c1, c2, c3 = -poles[0, 1], -poles[1, 1], -poles[2, 1], -poles[3, 1]
    r0 = r1 = r2 = r3 = side = full(0.0)
    for i in range(n):
        at = ROW * i + k
        here = load(d, i)
        x0, x1, x2, x3 = here + side * r0, here + side * r1, here + side * r2, here + side * r3
        x0, x1 = where(x0 > 0.0, x0, full(0.0)) + s0, where(x1 > 0.0, x1, full(0.0)) + s1
        x2, x3 = where(x2 > 0.0, x2, full(0.0)) + s2, where(x3 > 0.0, x3, full(0.0)) + s3
        x01, x23 = x0 * x1, x2 * x3
        inverse = 1.0 / (x01 * x23)
        y23, y01 = x01 * inverse, x23 * inverse
        y0, y1, y2, y3 = x1 * y01, x0 * y01, x3 * y23, x2 * y23
        store(X, at, like(X, y0 * (scale * c0)))
        store(X, at + 1, like(X, y1 * (scale * c1)))
        store(X, at + 2, like(X, y2 * (scale * c2)))
        store(X, at + 3, like(X, y3 * (scale * c3)))
        if i < n - 1:
            side = load(e, i)
            r0, r1, r2, r3 = -side * y0, -side * y1, -side * y2, -side * y3
            store(R, at, like(R, r0))
            store(R, at + 1, like(R, r1))
            store(R, at + 2, like(R, r2))
            store(R, at + 3, like(R, r3))


@jit
def reflect_both(F, n, V, p, q):
    """Packed F ← Q F Qᵀ for the reflections of `unit_reflections`, the shortest first.

    As in `tridiagonalize`, the update by one reflection and the product with the next share a pass.
    """
    zero = like(F, full(0.0))
    for r in range(n):
        store(q, r, zero)
    v = 1
    for m in range(2, n):
        u = v + m
        update_multiply(F, m, V, v, u, p, q)
        _update_multiply_below(F, m, n, V, v, u, p, q)
        dot = zero
        for r in range(m):
            dot = dot + load(p, r) * load(V, u + r)
        dot = dot * 0.5
        for r in range(m):
            store(q, r, load(p, r) - dot * load(V, u + r))
        for r in range(m, n):
            store(q, r, load(p, r))
        v = u
    at = 0
    for r in range(n):
        vr, qr = load(V, v + r), load(q, r)
        for c in range(r + 1):
            store(F, at, load(F, at) - vr * load(q, c) - qr * load(V, v + c))
            at += 1


@jit
def _update_multiply_below(F, m, n, V, v, u, p, q):
    """The same for rows m..n-1 and columns 0..m-1, where v and u are zero in the rows."""
    zero = like(F, full(0.0))
    for r in range(m, n - 1, 2):
        a = r * (r + 1) // 2
        b = a + r + 1
        q0, q1 = load(q, r), load(q, r + 1)
        sum0 = sum1 = zero
        for c in range(m):
            vc, uc = load(V, v + c), load(V, u + c)
            x0, x1 = load(F, a + c) - q0 * vc, load(F, b + c) - q1 * vc
            store(F, a + c, x0)
            store(F, b + c, x1)
            sum0, sum1 = sum0 + x0 * uc, sum1 + x1 * uc
        store(p, r, sum0)
        store(p, r + 1, sum1)
    if (n - m) % 2:
        a, q0, sum0 = (n - 1) * n // 2, load(q, n - 1), zero
        for c in range(m):
            x0 = load(F, a + c) - q0 * load(V, v + c)
            store(F, a + c, x0)
            sum0 = sum0 + x0 * load(V, u + c)
        store(p, n - 1, sum0)
