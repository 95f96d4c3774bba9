// Power normalisation of third-order tensors by their HOSVD, LANES tensors at a time.
//
//     X = E ×₁A₁ ×₂A₂ ×₃A₃   →   sgn(E)|E|^γ ×₁A₁ ×₂A₂ ×₃A₃   →   sgn(x)|x|^γ* of every entry
//
// The factors are the left singular vectors of the three unfoldings: M = L Q (Householder) and one-sided Jacobi on the
// columns of L, which become uᵢσᵢ. The eigenvectors of M Mᵀ are cheaper, but lose singular values below 1e-8 of the largest.
// After a power of 0.36 their core entries still matter: errors of DCK's tensors were 1e-3 (2e-6 after a power of 0.75).
#pragma once
#include "powers.h"

namespace kn {

// --- left singular vectors --------------------------------------------------------------------------------

// M = L Q: columns of L, each of length m, one after the other; row i of M (m, k) becomes reflection vᵢ.
//
// Q = Hₙ₋₁ ... H₀ with Hᵢ = I - vᵢ vᵢᵀ · inverses[i]. Returns n, the number of columns.
static int triangularize(Doubles *M, int m, int k, Doubles *L, Doubles *inverses) {
    const int n = m < k ? m : k;
    for (int i = 0; i < n; ++i) {
        Doubles *row = M + i * k;
        const Doubles square = sum_of_squares(row + i, k - i), x = row[i];
        const Doubles folded = -copysign(sqrt(square), x);
        const Mask<double> nothing = square < Doubles(TINY);
        const Doubles inverse = where(nothing, Doubles(0.0), Doubles(1.0) / (square - x * folded));
        inverses[i] = inverse;
        row[i] = x - folded;
        for (int r = 0; r < i; ++r) L[i * m + r] = 0.0;
        L[i * m + i] = where(nothing, Doubles(0.0), folded);
        int r = i + 1;
        for (; r + 3 <= m; r += 3) {
            Doubles *r0 = M + r * k, *r1 = r0 + k, *r2 = r1 + k, y0 = 0.0, y1 = 0.0, y2 = 0.0;
            for (int q = i; q < k; ++q) {
                const Doubles v = row[q];
                y0 = y0 + v * r0[q];
                y1 = y1 + v * r1[q];
                y2 = y2 + v * r2[q];
            }
            y0 = y0 * inverse;
            y1 = y1 * inverse;
            y2 = y2 * inverse;
            for (int q = i; q < k; ++q) {
                const Doubles v = row[q];
                r0[q] = r0[q] - v * y0;
                r1[q] = r1[q] - v * y1;
                r2[q] = r2[q] - v * y2;
            }
        }
        for (; r < m; ++r) {
            Doubles *r0 = M + r * k, y = 0.0;
            for (int q = i; q < k; ++q) y = y + row[q] * r0[q];
            y = y * inverse;
            for (int q = i; q < k; ++q) r0[q] = r0[q] - row[q] * y;
        }
        for (r = i + 1; r < m; ++r) L[i * m + r] = M[r * k + i];
    }
    return n;
}

// Make two columns orthogonal; returns whether they already were, very nearly, in every lane.
//
// Convergence is quadratic: after a sweep whose largest cosine is 1e-12, all columns are orthogonal.
static bool rotate_columns(Doubles *x, Doubles *y, int n, Doubles noise, Doubles &a, Doubles &b) {
    Doubles dot = 0.0;
    for (int r = 0; r < n; ++r) dot = dot + x[r] * y[r];
    const Doubles square = dot * dot, size = a * b;
    const Mask<double> due = (square > size * (n * EPS * n * EPS)) & (a > noise) & (b > noise);
    if (!any_lane(due)) return true;
    const bool nearly = !any_lane(due & (square > size * 1e-24));
    const Doubles twice = dot + dot, gap = b - a;
    Doubles t = copysign(twice, twice * gap) / (absolute(gap) + sqrt(gap * gap + twice * twice));
    t = where(due, t, Doubles(0.0));
    const Doubles c = Doubles(1.0) / sqrt(t * t + 1.0), s = t * c;
    for (int r = 0; r < n; ++r) {
        const Doubles p = x[r], q = y[r];
        x[r] = c * p - s * q;
        y[r] = s * p + c * q;
    }
    a = a - t * dot;
    b = b + t * dot;
    return nearly;
}

// One-sided Jacobi on n columns of length n, then scaling to unit length; columns of noise become zero.
static bool orthogonalize(Doubles *L, int n, Doubles total, Doubles *squares, int max_sweeps) {
    const Doubles noise = total * (EPS * EPS);
    bool converged = n == 1;
    for (int sweep = 0; sweep < max_sweeps && !converged; ++sweep) {
        converged = true;
        for (int j = 0; j < n; ++j) squares[j] = sum_of_squares(L + j * n, n);
        for (int i = 0; i < n - 1; ++i)
            for (int j = i + 1; j < n; ++j)
                converged &= rotate_columns(L + i * n, L + j * n, n, noise, squares[i], squares[j]);
    }
    for (int j = 0; j < n; ++j) {
        const Doubles square = sum_of_squares(L + j * n, n);
        const Doubles factor = where(square > noise, Doubles(1.0) / sqrt(square), Doubles(0.0));
        for (int r = 0; r < n; ++r) L[j * n + r] = L[j * n + r] * factor;
    }
    return converged;
}

// Working memory for the vectors of one unfolding with m rows, whichever way.
struct VectorRoom {
    Doubles *S, *T, *inverses;                         // by Jacobi
    Doubles *A, *V, *d, *e, *inverse, *p, *q, *rotations;  // by eigenvectors
    Block<double> *G;
    int32_t *starts;
    static constexpr int W = Block<double>::W;

    VectorRoom(int side, int widest, Room &room) {
        S = room.take<Doubles>(side * side);
        T = room.take<Doubles>(side * side);
        inverses = room.take<Doubles>(side);
        A = room.take<Doubles>(packed(widest));
        V = room.take<Doubles>(packed(widest));
        d = room.take<Doubles>(widest);
        e = room.take<Doubles>(widest);
        inverse = room.take<Doubles>(widest);
        p = room.take<Doubles>(widest);
        q = room.take<Doubles>(widest);
        rotations = room.take<Doubles>(4LL * widest * widest);
        G = room.take<Block<double>>((int64_t)widest * ((widest + W - 1) / W));
        starts = room.take<int32_t>(2LL * widest * widest);
    }
};

// Left singular vectors of M (m, k) as columns of U, one after the other; M is overwritten.
//
// Returns their number, negative without convergence. M = L Q, L = Q₂ R, R = L₃ Q₃, U = Q₂ U₃: the second and third step
// make L more diagonal and cost a third of the Jacobi sweeps that they save.
static int left_vectors(Doubles *M, int m, int k, Doubles total, Doubles *U, VectorRoom &room, int max_sweeps) {
    Doubles *T = room.T, *S = room.S, *inverses = room.inverses;
    const int n = triangularize(M, m, k, T, inverses);  // columns of L are rows of its transpose
    triangularize(T, n, m, S, inverses);
    for (int i = 0; i < n; ++i) U[i] = inverses[i];  // of the reflections of Q₂, which stay in T
    triangularize(S, n, n, M, inverses);
    const bool converged = orthogonalize(M, n, total, inverses, max_sweeps);
    for (int i = 0; i < n; ++i) inverses[i] = U[i];
    for (int j = 0; j < n; ++j)
        for (int r = 0; r < m; ++r) U[j * m + r] = r < n ? M[j * n + r] : Doubles(0.0);
    for (int i = n - 1; i >= 0; --i)
        for (int j = 0; j < n; ++j) {
            Doubles dot = 0.0;
            for (int r = i; r < m; ++r) dot = dot + T[i * m + r] * U[j * m + r];
            dot = dot * inverses[i];
            for (int r = i; r < m; ++r) U[j * m + r] = U[j * m + r] - dot * T[i * m + r];
        }
    return converged ? n : -1;
}

// The same as eigenvectors of M Mᵀ, for m > 3.
static int gram_vectors(const Doubles *M, int m, int k, Doubles *U, VectorRoom &room) {
    constexpr int W = Block<double>::W;
    const int blocks = (m + W - 1) / W, first = blocks * W - m;
    Doubles *A = room.A;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j <= i; j += 3) {
            const int j1 = j + 1 < i ? j + 1 : i, j2 = j + 2 < i ? j + 2 : i;
            Doubles x0 = 0.0, x1 = 0.0, x2 = 0.0;
            for (int r = 0; r < k; ++r) {
                const Doubles x = M[i * k + r];
                x0 = x0 + x * M[j * k + r];
                x1 = x1 + x * M[j1 * k + r];
                x2 = x2 + x * M[j2 * k + r];
            }
            A[packed(i) + j2] = x2;
            A[packed(i) + j1] = x1;
            A[packed(i) + j] = x0;
        }
    const Doubles norm = sqrt(sum_of_squares(A, packed(m)));
    tridiagonalize(A, m, room.d, room.e, room.p, room.q, room.inverse);
    const int sweeps =
        diagonalize(room.d, room.e, m, norm * EPS, room.rotations, room.starts, 2LL * m * m);
    if (sweeps < 0) return -1;
    for (int k = 0; k < m * blocks; ++k) room.G[k] = no_block<double>();
    for (int j = 0; j < m; ++j) room.G[(first + j) / W * m + j].v[(first + j) % W] = 1.0;
    rotate(room.G, m, m, blocks, room.rotations, room.starts, sweeps);
    unit_reflections(A, room.inverse, m, room.V, room.p);
    reflect(room.G, m, m, blocks, room.V, room.p);
    for (int j = 0; j < m; ++j)
        for (int r = 0; r < m; ++r) U[j * m + r] = room.G[(first + j) / W * m + r].v[(first + j) % W];
    return m;
}

// --- the power of one group -------------------------------------------------------------------------------

// Tensor (outer, m, inner) → matrix (m, outer·inner).
KN_INLINE void unfold(const Doubles *X, int outer, int m, int inner, Doubles *M) {
    for (int o = 0; o < outer; ++o)
        for (int r = 0; r < m; ++r)
            for (int i = 0; i < inner; ++i) M[(r * outer + o) * inner + i] = X[(o * m + r) * inner + i];
}

// Y[o, q, i] = Σ_r U[q·across + r·along] X[o, r, i]: a tensor times a matrix in its middle mode.
//
// Two positions by three results at a time; at the end the last ones are computed again.
static void contract(const Doubles *X, int outer, int k, int inner, const Doubles *U, int across, int along, int n_out,
                     Doubles *Y) {
    const int last = outer * inner - 1;
    for (int q = 0; q < n_out; q += 3) {
        const int q1 = q + 1 < n_out ? q + 1 : n_out - 1, q2 = q + 2 < n_out ? q + 2 : n_out - 1;
        for (int t = 0; t <= last; t += 2) {
            const int t1 = t < last ? t + 1 : last;
            const Doubles *x0 = X + t / inner * inner * k + t % inner, *x1 = X + t1 / inner * inner * k + t1 % inner;
            Doubles y00 = 0.0, y01 = y00, y02 = y00, y10 = y00, y11 = y00, y12 = y00;
            for (int r = 0; r < k; ++r) {
                const Doubles a = x0[r * inner], b = x1[r * inner];
                const Doubles u0 = U[q * across + r * along], u1 = U[q1 * across + r * along];
                const Doubles u2 = U[q2 * across + r * along];
                y00 = y00 + u0 * a; y01 = y01 + u1 * a; y02 = y02 + u2 * a;
                y10 = y10 + u0 * b; y11 = y11 + u1 * b; y12 = y12 + u2 * b;
            }
            Doubles *y0 = Y + t / inner * inner * n_out + t % inner, *y1 = Y + t1 / inner * inner * n_out + t1 % inner;
            y0[q * inner] = y00;
            y0[q1 * inner] = y01;
            y0[q2 * inner] = y02;
            y1[q * inner] = y10;
            y1[q1 * inner] = y11;
            y1[q2 * inner] = y12;
        }
    }
}

// x ← sgn(x)·|x|^power; entries under a share of the largest count as zero.
static void signed_power(Doubles *X, int size, double relative_floor, double power) {
    Doubles top = 0.0;
    for (int k = 0; k < size; ++k) {
        const Doubles x = absolute(X[k]);
        top = where(x > top, x, top);
    }
    const Doubles floor = top * relative_floor;
    for (int k = 0; k < size; ++k) {
        const Doubles x = absolute(X[k]);
        const Mask<double> kept = x > floor;
        const Doubles y = positive_power(where(kept, x, Doubles(1.0)), power);
        X[k] = where(kept, copysign(y, X[k]), Doubles(0.0));
    }
}

struct HosvdRoom {
    int shape[3], size, side, widest;
    Doubles *X, *Y, *M, *U[3];  // X: what to normalise
    VectorRoom vectors;

    // Modes longer than all others together have no square to diagonalise.
    static int widest_of(int a, int b, int c) {
        const int shape[3] = {a, b, c};
        int widest = 0;
        for (int m : shape)
            if ((int64_t)m * m <= (int64_t)a * b * c && m > widest) widest = m;
        return widest;
    }

    HosvdRoom(int a, int b, int c, Room &room)
        : shape{a, b, c}, size(a * b * c), side(a > b ? a > c ? a : c : b > c ? b : c), widest(widest_of(a, b, c)),
          X(room.take<Doubles>(size + LANES)), Y(room.take<Doubles>(size)), M(room.take<Doubles>(size)),
          U{room.take<Doubles>(side * side), room.take<Doubles>(side * side), room.take<Doubles>(side * side)},
          vectors(side, widest, room) {}
};

// What became of room.X, size vectors of float64; null without convergence. `by_gram` takes the eigenvectors of M Mᵀ.
static Doubles *hosvd_power_of(HosvdRoom &room, double power, double entry_power, bool by_gram, int max_sweeps) {
    const int a = room.shape[0], b = room.shape[1], c = room.shape[2], size = room.size;
    const int modes[3][3] = {{1, a, b * c}, {a, b, c}, {a * b, c, 1}};  // sizes before, in and after each mode
    int ranks[3];
    Doubles total = sum_of_squares(room.X, size);
    Scaling scaling = {0.0, 0.0};
    if (any_lane(~tame_lanes(total, LEAST_SQUARE<double>))) {
        scaling = tame(room.X, size, total, LEAST_SQUARE<double>);
        total = sum_of_squares(room.X, size);
    }
    for (int mode = 0; mode < 3; ++mode) {
        const int outer = modes[mode][0], m = modes[mode][1], inner = modes[mode][2], k = outer * inner;
        unfold(room.X, outer, m, inner, room.M);
        if (by_gram && m > 3 && m <= k)
            ranks[mode] = gram_vectors(room.M, m, k, room.U[mode], room.vectors);
        else
            ranks[mode] = left_vectors(room.M, m, k, total, room.U[mode], room.vectors, max_sweeps);
        if (ranks[mode] < 0) return nullptr;
    }
    Doubles *now = room.X, *then = room.Y;
    int inner = 1;
    for (int mode = 2; mode >= 0; --mode) {  // the core: M and Y are used alternately
        const int outer = modes[mode][0], m = modes[mode][1];
        contract(now, outer, m, inner, room.U[mode], m, 1, ranks[mode], then);
        Doubles *free = mode == 2 ? room.M : now;
        now = then;
        then = free;
        inner *= ranks[mode];
    }
    signed_power(now, inner, room.side * EPS, power);
    for (int mode = 0; mode < 3; ++mode) {
        const int outer = modes[mode][0], m = modes[mode][1];
        inner /= ranks[mode];
        contract(now, outer, ranks[mode], inner, room.U[mode], 1, m, m, then);
        Doubles *free = now;
        now = then;
        then = free;
    }
    if (entry_power != 1) signed_power(now, size, 0.0, entry_power);
    const Doubles factor = exp2(scaling.shift * (0.5 * power * entry_power));
    for (int k = 0; k < size; ++k) now[k] = now[k] * factor * factor + scaling.poison;
    return now;
}

}  // namespace kn
