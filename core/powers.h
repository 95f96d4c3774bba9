// Powers of small symmetric matrices, LANES at a time.
//
// A = Q T Qᵀ with T tridiagonal (Householder), T = R diag(λ) Rᵀ by implicit QL, A^γ = Z Zᵀ with Z = Q R diag(λ^γ/2). Besides
// the lanes, these make it fast:
// - no lane waits for another: in a common sweep, each lane iterates on its own eigenvalue;
// - the rotations are stored and applied backwards from the diagonal, so the last sweeps only change a corner of the matrix;
// - for float32 results, T and λ are computed in float64, but R and Q are applied in float32: only the eigenvalues need
//   the precision.
// If sums are positive semi-definite up to rounding in float64 and the result is float32, T^γ is a sum of resolvents instead.
#pragma once
#include "eigen.h"

namespace kn {

constexpr int POLES = 16;

// Σ x² of every lane.
KN_INLINE Doubles sum_of_squares(const Doubles *S, int64_t count) {
    Doubles total = 0.0;
    for (int64_t k = 0; k < count; ++k) total = total + S[k] * S[k];
    return total;
}

// The smallest sum of squares for which products in a precision keep all digits.
template <class T> constexpr double LEAST_SQUARE = sizeof(T) == 8 ? 1e-200 : 1e-50;
constexpr double LARGEST_SQUARE = 1e200;

// Lanes whose squares neither overflow nor underflow and that are neither zero nor NaN.
KN_INLINE Mask<double> tame_lanes(Doubles total, double least) {
    return (total > Doubles(least)) & (total < Doubles(LARGEST_SQUARE));
}

struct Scaling {
    Doubles shift;   // the lane was multiplied by 2^-shift
    Doubles poison;  // NaN for lanes with NaN or infinity, zero for others
};

// Scale the lanes that are not tame to entries near 1; lanes with NaN or infinity become zero. Other lanes do not change,
// so that no result depends on neighbours.
static Scaling tame(Doubles *S, int64_t count, Doubles total, double least) {
    Doubles top = 0.0, poison = 0.0;
    for (int64_t k = 0; k < count; ++k) {
        const Doubles size = absolute(S[k]);
        top = where(size > top, size, top);
        poison = poison + S[k] * 0.0;
    }
    const Mask<double> usable = (absolute(poison) <= Doubles(0.0)) & (top > Doubles(0.0));
    Doubles shift = exponent(where(usable, top, Doubles(1.0)));
    shift = where(shift > Doubles(1000.0), Doubles(1000.0), where(shift < Doubles(-1000.0), Doubles(-1000.0), shift));
    shift = where(tame_lanes(total, least), Doubles(0.0), shift);
    const Doubles factor = exp2_whole(-shift);
    for (int64_t k = 0; k < count; ++k) S[k] = where(usable, S[k] * factor, Doubles(0.0));
    return {shift, poison};
}

// Working memory of `power_of` in one piece.
template <class T> struct PowerRoom {
    Doubles *d, *e, *p, *q, *inverse;
    Vec<T> *F, *V, *cross, *R, *X, *rotations;  // F: the packed result
    Block<T> *G;
    int32_t *starts;
    int64_t limit;

    static constexpr int rows(int n) { return (n + 2) / 3 * 3; }  // the product at the end takes three rows at a time
    static constexpr int blocks(int n) { return (n + Block<T>::W - 1) / Block<T>::W; }
    static int64_t rotation_limit(int n) { return 2LL * n * n; }  // QL needs 0.6 to 0.9 n²

    PowerRoom(int n, Room &room) {
        limit = rotation_limit(n);
        d = room.take<Doubles>(n);
        e = room.take<Doubles>(n);
        p = room.take<Doubles>(n);
        q = room.take<Doubles>(n);
        inverse = room.take<Doubles>(n);
        F = room.take<Vec<T>>(packed(rows(n)));
        V = room.take<Vec<T>>(packed(n));
        cross = room.take<Vec<T>>(n);
        starts = room.take<int32_t>(limit);
        Room other = room;  // resolvents and rotations are never needed together
        R = other.take<Vec<T>>((int64_t)POLES * n);
        X = other.take<Vec<T>>((int64_t)POLES * n);
        G = room.take<Block<T>>((int64_t)rows(n) * blocks(n));
        rotations = room.take<Vec<T>>(2 * limit);
        if (other.at > room.at) room.at = other.at;
    }
};

// G = diag(λ^power), where λ below the rank's floor counts as zero.
template <class T> void start_powers(const Doubles *d, int n, double power, Block<T> *G) {
    constexpr int W = Block<T>::W;
    const int rows = PowerRoom<T>::rows(n), blocks = PowerRoom<T>::blocks(n);
    Doubles top = 0.0;
    for (int i = 0; i < n; ++i) {
        const Doubles size = absolute(d[i]);
        top = where(size > top, size, top);
    }
    for (int k = 0; k < rows * blocks; ++k) G[k] = no_block<T>();
    const Doubles floor = top * (2.0 * root((double)n) * EPS);
    for (int i = 0; i < n; ++i) {
        const Mask<double> kept = d[i] > floor;
        const Doubles x = positive_power(where(kept, d[i], Doubles(1.0)), power);
        const int j = i + blocks * W - n;
        G[j / W * rows + i].v[j % W] = convert<T>(where(kept, x, Doubles(0.0)));
    }
}

// Packed F = G Gᵀ, three rows by three at a time.
template <class T> void multiply(const Block<T> *G, int n, Vec<T> *F) {
    const int rows = PowerRoom<T>::rows(n), blocks = PowerRoom<T>::blocks(n);
    for (int i = 0; i < rows; i += 3) {
        Vec<T> *f = F + packed(i), *g = F + packed(i + 1), *h = F + packed(i + 2);
        for (int j = 0; j <= i; j += 3) {
            Vec<T> x00 = 0.0, x01 = x00, x02 = x00, x10 = x00, x11 = x00, x12 = x00, x20 = x00, x21 = x00, x22 = x00;
            for (int block = 0; block < blocks; ++block) {
                const Block<T> *a = G + rows * block + i, *b = G + rows * block + j;
                for (int k = 0; k < Block<T>::W; ++k) {
                    const Vec<T> p0 = a[0].v[k], p1 = a[1].v[k], p2 = a[2].v[k];
                    const Vec<T> q0 = b[0].v[k], q1 = b[1].v[k], q2 = b[2].v[k];
                    x00 = x00 + p0 * q0; x01 = x01 + p0 * q1; x02 = x02 + p0 * q2;
                    x10 = x10 + p1 * q0; x11 = x11 + p1 * q1; x12 = x12 + p1 * q2;
                    x20 = x20 + p2 * q0; x21 = x21 + p2 * q1; x22 = x22 + p2 * q2;
                }
            }
            f[j] = x00;
            if (j < i) {
                f[j + 1] = x01;
                f[j + 2] = x02;
                g[j + 2] = x12;
            }
            g[j] = x10;
            g[j + 1] = x11;
            h[j] = x20;
            h[j + 1] = x21;
            h[j + 2] = x22;
        }
    }
}

// --- powers by resolvents ---------------------------------------------------------------------------------
//
//     T^γ ≈ Σ_k w_k T (T + s_k)⁻¹ = Σ_k w_k - Σ_k w_k s_k (T + s_k)⁻¹
//
// No eigenvalues are computed: each entry of an inverse is its neighbour times a factor. All w_k and s_k are positive, and
// the smallest s_k is above the rounding errors of T, so these become zero.

template <class T> struct Row {
    Vec<T> v[POLES];
};

template <class T> KN_INLINE Vec<T> sum(const Vec<T> *row) {
    Vec<T> s[POLES / 2];
    for (int k = 0; k < POLES / 2; ++k) s[k] = row[2 * k] + row[2 * k + 1];
    for (int width = POLES / 4; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) s[k] = s[2 * k] + s[2 * k + 1];
    return s[0];
}

// T divided by its norm, in place; returns the norm's power, zero for zero.
KN_INLINE Doubles normalize(Doubles *d, Doubles *e, int n, double power) {
    Doubles square = d[n - 1] * d[n - 1];
    for (int i = 0; i < n - 1; ++i) square = square + d[i] * d[i] + Doubles(2.0) * e[i] * e[i];
    const Mask<double> usable = square > Doubles(0.0);
    const Doubles norm = sqrt(where(usable, square, Doubles(1.0))), inverse = Doubles(1.0) / norm;
    for (int i = 0; i < n; ++i) {
        d[i] = d[i] * inverse;
        e[i] = e[i] * inverse;
    }
    return where(usable, positive_power(norm, power), Doubles(0.0));
}

// T + s = L D Lᵀ for four s: R gets the negative lower diagonal of L and X gets -scale w s / D, from column k on.
//
// Pivots of a positive semi-definite T are at least s, whatever the rounding. One division is enough for four.
template <class T>
void factorize(const Doubles *d, const Doubles *e, int n, const double *poles, Doubles scale, Row<T> *R, Row<T> *X, int k) {
    const Doubles zero = 0.0, s0 = poles[0], s1 = poles[2], s2 = poles[4], s3 = poles[6];
    const Doubles c0 = scale * -poles[1], c1 = scale * -poles[3], c2 = scale * -poles[5], c3 = scale * -poles[7];
    Doubles r0 = 0.0, r1 = r0, r2 = r0, r3 = r0, side = r0;
    for (int i = 0; i < n; ++i) {
        const Doubles here = d[i];
        Doubles x0 = here + side * r0, x1 = here + side * r1, x2 = here + side * r2, x3 = here + side * r3;
        x0 = where(x0 > zero, x0, zero) + s0;
        x1 = where(x1 > zero, x1, zero) + s1;
        x2 = where(x2 > zero, x2, zero) + s2;
        x3 = where(x3 > zero, x3, zero) + s3;
        const Doubles x01 = x0 * x1, x23 = x2 * x3, inverse = Doubles(1.0) / (x01 * x23);
        const Doubles y23 = x01 * inverse, y01 = x23 * inverse;
        const Doubles y0 = x1 * y01, y1 = x0 * y01, y2 = x3 * y23, y3 = x2 * y23;
        X[i].v[k] = convert<T>(y0 * c0);
        X[i].v[k + 1] = convert<T>(y1 * c1);
        X[i].v[k + 2] = convert<T>(y2 * c2);
        X[i].v[k + 3] = convert<T>(y3 * c3);
        if (i < n - 1) {
            side = e[i];
            r0 = -side * y0; r1 = -side * y1; r2 = -side * y2; r3 = -side * y3;
            R[i].v[k] = convert<T>(r0);
            R[i].v[k + 1] = convert<T>(r1);
            R[i].v[k + 2] = convert<T>(r2);
            R[i].v[k + 3] = convert<T>(r3);
        }
    }
}

// Packed F = T^γ times each lane's scale, from the diagonal d and off-diagonal e of T with norm 1.
//
// An entry of an inverse is its right neighbour times a ratio: X[j, i] = r_i X[j, i+1], and
// X[j, j] = 1/D_j + r_j² X[j+1, j+1].
template <class T>
void tridiagonal_power(const Doubles *d, const Doubles *e, int n, const double *poles, Doubles scale, Vec<T> *F,
                       Row<T> *R, Row<T> *X) {
    double total = 0;
    for (int k = 0; k < POLES; k += 4) {
        factorize(d, e, n, poles + 2 * k, scale, R, X, k);
        for (int i = k; i < k + 4; ++i) total += poles[2 * i + 1] / poles[2 * i];
    }
    const Vec<T> start = convert<T>(scale * total);
    Row<T> diagonal = X[n - 1];
    for (int j = n - 1; j >= 0; --j) {
        Vec<T> *f = F + packed(j);
        f[j] = start + sum(diagonal.v);
        Row<T> x = diagonal;
        for (int i = j - 1; i >= 0; --i) {
            for (int k = 0; k < POLES; ++k) x.v[k] *= R[i].v[k];
            f[i] = sum(x.v);
        }
        if (j > 0)
            for (int k = 0; k < POLES; ++k)
                diagonal.v[k] = X[j - 1].v[k] + R[j - 1].v[k] * R[j - 1].v[k] * diagonal.v[k];
    }
}

// `update_multiply` for rows m..n-1 and columns 0..m-1, where v and u are zero in the rows.
template <class T>
void update_multiply_below(Vec<T> *F, int m, int n, const Vec<T> *v, const Vec<T> *u, Vec<T> *p, const Vec<T> *q) {
    for (int r = m; r < n - 1; r += 2) {
        Vec<T> *a = F + packed(r), *b = F + packed(r + 1), sum0 = 0.0, sum1 = 0.0;
        const Vec<T> q0 = q[r], q1 = q[r + 1];
        for (int c = 0; c < m; ++c) {
            const Vec<T> vc = v[c], uc = u[c], x0 = a[c] - q0 * vc, x1 = b[c] - q1 * vc;
            a[c] = x0;
            b[c] = x1;
            sum0 = sum0 + x0 * uc;
            sum1 = sum1 + x1 * uc;
        }
        p[r] = sum0;
        p[r + 1] = sum1;
    }
    if ((n - m) % 2) {
        Vec<T> *a = F + packed(n - 1), sum0 = 0.0;
        const Vec<T> q0 = q[n - 1];
        for (int c = 0; c < m; ++c) {
            const Vec<T> x0 = a[c] - q0 * v[c];
            a[c] = x0;
            sum0 = sum0 + x0 * u[c];
        }
        p[n - 1] = sum0;
    }
}

// Packed F ← Q F Qᵀ for the reflections of `unit_reflections`, the shortest first.
//
// As in `tridiagonalize`, the update by one reflection and the product with the next share a pass.
template <class T> void reflect_both(Vec<T> *F, int n, const Vec<T> *V, Vec<T> *p, Vec<T> *q) {
    for (int r = 0; r < n; ++r) q[r] = 0.0;
    const Vec<T> *v = V + 1;
    for (int m = 2; m < n; ++m) {
        const Vec<T> *u = v + m;
        update_multiply(F, m, v, u, p, q);
        update_multiply_below(F, m, n, v, u, p, q);
        Vec<T> dot = 0.0;
        for (int r = 0; r < m; ++r) dot = dot + p[r] * u[r];
        dot = dot * 0.5;
        for (int r = 0; r < m; ++r) q[r] = p[r] - dot * u[r];
        for (int r = m; r < n; ++r) q[r] = p[r];
        v = u;
    }
    Vec<T> *f = F;
    for (int r = 0; r < n; ++r) {
        const Vec<T> vr = v[r], qr = q[r];
        for (int c = 0; c <= r; ++c, ++f) *f = *f - vr * q[c] - qr * v[c];
    }
}

// --- the power of one group -------------------------------------------------------------------------------

// Packed matrices A to the power, into the packed room.F; false if one did not converge. A is overwritten.
// poles: POLES pairs (s_k, w_k s_k) for powers by resolvents, or null.
template <class T>
bool power_of(Doubles *A, int n, double power, const double *poles, PowerRoom<T> &room) {
    const int64_t size = packed(n);
    Doubles total = sum_of_squares(A, size);
    Scaling scaling;
    const bool usual = !any_lane(~tame_lanes(total, LEAST_SQUARE<T>));
    if (!usual) {
        scaling = tame(A, size, total, LEAST_SQUARE<T>);
        total = sum_of_squares(A, size);
    }
    {
        FlushSubnormals while_here;
        tridiagonalize(A, n, room.d, room.e, room.p, room.q, room.inverse);
        unit_reflections(A, room.inverse, n, room.V, room.cross);
        if (poles) {
            const Doubles scale = normalize(room.d, room.e, n, power);
            tridiagonal_power(room.d, room.e, n, poles, scale, room.F, (Row<T> *)room.R, (Row<T> *)room.X);
            reflect_both(room.F, n, room.V, room.R, room.X);
        } else {
            const int sweeps =
                diagonalize(room.d, room.e, n, sqrt(total) * EPS, room.rotations, room.starts, room.limit);
            if (sweeps < 0) return false;
            start_powers(room.d, n, 0.5 * power, room.G);
            const int rows = room.rows(n), blocks = room.blocks(n);
            rotate(room.G, n, rows, blocks, room.rotations, room.starts, sweeps);
            reflect(room.G, n, rows, blocks, room.V, room.cross);
            multiply(room.G, n, room.F);
        }
    }
    if (!usual) {  // in two halves, neither of which underflows: tiny results are rounded only once
        const Vec<T> factor = convert<T>(exp2(scaling.shift * (0.5 * power))), poison = convert<T>(scaling.poison);
        for (int64_t k = 0; k < size; ++k) room.F[k] = room.F[k] * factor * factor + poison;
    }
    return true;
}

}  // namespace kn
