// The derivative of a weighted sum of a power's entries, LANES matrices at a time.
//
//     f(A) = ⟨W, A^γ⟩,   ∇f(A) = U (K ∘ (Uᵀ W U)) Uᵀ,   K_ij = (λ_i^γ - λ_j^γ) / (λ_i - λ_j),   K_ii = γ λ_i^(γ-1)
//
// with A = U diag(λ) Uᵀ (Daleckii and Krein). Directions below the numerical rank are left out, as in the power itself.
#pragma once
#include "powers.h"

namespace kn {

struct GradientRoom {
    int n;  // at least 4: smaller matrices are filled with zeros
    PowerRoom<double> power;
    Doubles *U, *M, *N, *raised;

    GradientRoom(int64_t size, Room &room)
        : n(size < 4 ? 4 : (int)size), power(n, room), U(room.take<Doubles>((int64_t)n * n)),
          M(room.take<Doubles>((int64_t)n * n)), N(room.take<Doubles>((int64_t)n * n)), raised(room.take<Doubles>(n)) {}
};

// K of two eigenvalues above the floor, and their powers. Next to each other, the quotient is its Taylor series about their
// mean, which keeps all digits.
KN_INLINE Doubles divided_difference(Doubles a, Doubles b, Doubles raised_a, Doubles raised_b, double power) {
    const Doubles mean = (a + b) * 0.5, gap = (a - b) * 0.5 / mean, square = gap * gap;
    const Mask<double> near = square < Doubles(1e-4);
    const Doubles quotient = (raised_a - raised_b) / where(near, Doubles(1.0), a - b);
    if (!any_lane(near)) return quotient;
    const double g = power, second = (g - 1) * (g - 2) / 6, fourth = second * (g - 3) * (g - 4) / 20;
    const Doubles series = Doubles(1.0) + square * (Doubles(second) + square * fourth);
    return where(near, positive_power(mean, g - 1) * g * series, quotient);
}

// C = A B, or Aᵀ B, of full matrices (n, n).
KN_INLINE void full_product(const Doubles *A, bool transposed, const Doubles *B, int n, Doubles *C) {
    for (int i = 0; i < n; ++i) {
        Doubles *c = C + i * n;
        for (int j = 0; j < n; ++j) c[j] = 0.0;
        for (int k = 0; k < n; ++k) {
            const Doubles a = transposed ? A[k * n + i] : A[i * n + k];
            for (int j = 0; j < n; ++j) c[j] += a * B[k * n + j];
        }
    }
}

// Packed G = ∇f(A) / γ from packed A, which is overwritten, and packed W; false without convergence.
static bool power_gradient(Doubles *A, const Doubles *W, double power, GradientRoom &room, Doubles *G) {
    const int n = room.n, rows = PowerRoom<double>::rows(n), blocks = PowerRoom<double>::blocks(n);
    constexpr int WIDE = Block<double>::W;
    PowerRoom<double> &p = room.power;
    Doubles *U = room.U, *M = room.M, *N = room.N, *d = p.d;
    if (power == 1.0) {
        for (int64_t k = 0; k < packed(n); ++k) G[k] = W[k];
        return true;
    }
    const Doubles total = sum_of_squares(A, packed(n));
    const Scaling scaling = tame(A, packed(n), total, LEAST_SQUARE<double>);
    FlushSubnormals while_here;
    const Doubles norm = sqrt(sum_of_squares(A, packed(n)));
    tridiagonalize(A, n, d, p.e, p.p, p.q, p.inverse);
    unit_reflections(A, p.inverse, n, p.V, p.cross);
    const int sweeps = diagonalize(d, p.e, n, norm * EPS, p.rotations, p.starts, p.limit);
    if (sweeps < 0) return false;
    start_powers(d, n, 0.0, p.G);  // the identity, without the directions that are left out
    rotate(p.G, n, rows, blocks, p.rotations, p.starts, sweeps);
    reflect(p.G, n, rows, blocks, p.V, p.cross);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const int column = j + blocks * WIDE - n;
            U[i * n + j] = p.G[column / WIDE * rows + i].v[column % WIDE];
            N[i * n + j] = W[i > j ? packed(i) + j : packed(j) + i];
        }
    Doubles top = 0.0;
    for (int i = 0; i < n; ++i) top = where(absolute(d[i]) > top, absolute(d[i]), top);
    const Doubles floor = top * (2.0 * root((double)n) * EPS);
    for (int i = 0; i < n; ++i) {
        d[i] = where(d[i] > floor, d[i], Doubles(1.0));  // of no weight: its column of U is zero
        room.raised[i] = positive_power(d[i], power);
    }
    full_product(N, false, U, n, M);
    full_product(U, true, M, n, N);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            const Doubles K = divided_difference(d[i], d[j], room.raised[i], room.raised[j], power);
            N[j * n + i] = N[i * n + j] = N[i * n + j] * K;
        }
    full_product(U, false, N, n, M);
    const Doubles scale = exp2(scaling.shift * (power - 1)) * (1 / power);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            Doubles sum = 0.0;
            for (int k = 0; k < n; ++k) sum += M[i * n + k] * U[j * n + k];
            G[packed(i) + j] = sum * scale + scaling.poison;
        }
    return true;
}

}  // namespace kn
