// Symmetric eigenproblems, LANES at a time: Householder reduction, implicit QL, and the transformation back.
//
// Matrices are packed lower triangles: row i starts at vector i(i+1)/2. A = Q T Qᵀ with T tridiagonal, and
// T = R diag(λ) Rᵀ. Neither Q nor R is formed: Q stays as reflections, R as plane rotations, and both are applied to a
// matrix G that is cut into column blocks, G[i, j] at block j / w · rows + i, column j % w for blocks of w columns.
// The columns fill the last block to its end; the first block may begin with zeros.
#pragma once
#include "lanes.h"

namespace kn {

constexpr double TINY = 1e-280;  // a squared length that counts as zero; matrices come scaled to norms 1e-100..1e100

constexpr int64_t packed(int64_t n) { return n * (n + 1) / 2; }

// Neighbouring vectors handled as one value, to keep the arithmetic units busy.
template <class T> struct Block {
    static constexpr int W = sizeof(T) == 8 ? 2 : 4;
    Vec<T> v[W];
    KN_INLINE friend Block operator+(Block a, const Block &b) { for (int k = 0; k < W; ++k) a.v[k] += b.v[k]; return a; }
    KN_INLINE friend Block operator*(Vec<T> s, Block b) { for (int k = 0; k < W; ++k) b.v[k] *= s; return b; }
    // this - s·b
    KN_INLINE Block less(Vec<T> s, const Block &b) const {
        Block a;
        for (int k = 0; k < W; ++k) a.v[k] = v[k] - s * b.v[k];
        return a;
    }
};

template <class T> KN_INLINE Block<T> no_block() {
    Block<T> z;
    for (int k = 0; k < Block<T>::W; ++k) z.v[k] = 0.0;
    return z;
}

// Rows 0..m-1 of A less v qᵀ + q vᵀ, and p = A u; two rows at a time to use each loaded value twice.
template <class T> void update_multiply(Vec<T> *A, int m, const Vec<T> *v, const Vec<T> *u, Vec<T> *p, const Vec<T> *q) {
    for (int r = 0; r < m - 1; r += 2) {
        Vec<T> *a = A + packed(r), *b = A + packed(r + 1);
        const Vec<T> v0 = v[r], v1 = v[r + 1], q0 = q[r], q1 = q[r + 1], u0 = u[r], u1 = u[r + 1];
        Vec<T> sum0 = 0.0, sum1 = 0.0;
        for (int c = 0; c < r; ++c) {
            const Vec<T> vc = v[c], qc = q[c], uc = u[c];
            const Vec<T> x0 = a[c] - v0 * qc - q0 * vc, x1 = b[c] - v1 * qc - q1 * vc;
            a[c] = x0;
            b[c] = x1;
            sum0 = sum0 + x0 * uc;
            sum1 = sum1 + x1 * uc;
            p[c] = p[c] + x0 * u0 + x1 * u1;
        }
        const Vec<T> x0 = a[r] - Vec<T>(2.0) * v0 * q0, side = b[r] - v1 * q0 - q1 * v0;
        const Vec<T> x1 = b[r + 1] - Vec<T>(2.0) * v1 * q1;
        a[r] = x0;
        b[r] = side;
        b[r + 1] = x1;
        p[r] = sum0 + x0 * u0 + side * u1;
        p[r + 1] = sum1 + side * u0 + x1 * u1;
    }
    if (m % 2) {
        const int r = m - 1;
        Vec<T> *a = A + packed(r);
        const Vec<T> v0 = v[r], q0 = q[r], u0 = u[r];
        Vec<T> sum0 = 0.0;
        for (int c = 0; c < r; ++c) {
            const Vec<T> x0 = a[c] - v0 * q[c] - q0 * v[c];
            a[c] = x0;
            sum0 = sum0 + x0 * u[c];
            p[c] = p[c] + x0 * u0;
        }
        const Vec<T> x0 = a[r] - Vec<T>(2.0) * v0 * q0;
        a[r] = x0;
        p[r] = sum0 + x0 * u0;
    }
}

// The reflection that folds row i (i elements, their sum of squares given) into its last element.
KN_INLINE void reflection(Doubles *A, int i, Doubles square, Doubles *e, Doubles *inverse) {
    Doubles *at = A + packed(i) + i - 1;
    const Doubles x = *at, folded = -copysign(sqrt(square), x);
    const Mask<double> nothing = square < Doubles(TINY);
    *at = x - folded;
    e[i - 1] = where(nothing, Doubles(0.0), folded);
    inverse[i] = where(nothing, Doubles(0.0), Doubles(1.0) / (square - x * folded));
}

// Packed A → diagonal d, off-diagonal e; row i of A becomes reflection vᵢ, inverse[i] = 2 / |vᵢ|².
//
// From the last row up. The update A - v qᵀ - q vᵀ by one reflection and the product p = A u that the next needs share
// one pass over A: row m-1 is updated first, since it holds u.
static void tridiagonalize(Doubles *A, int n, Doubles *d, Doubles *e, Doubles *p, Doubles *q, Doubles *inverse) {
    const int last = n - 1;
    Doubles *v = A + packed(last), *u = v, square = 0.0;
    d[last] = u[last];
    for (int c = 0; c < last; ++c) {
        square = square + u[c] * u[c];
        q[c] = 0.0;  // nothing to update by in the first pass
    }
    reflection(A, last, square, e, inverse);
    for (int m = last; m > 0; --m) {
        update_multiply(A, m, v, u, p, q);
        if (m == 1) break;
        const Doubles k = inverse[m];
        Doubles dot = 0.0;
        for (int r = 0; r < m; ++r) dot = dot + p[r] * u[r];
        dot = dot * k * k * 0.5;
        for (int r = 0; r < m; ++r) q[r] = p[r] * k - dot * u[r];
        const int r = m - 1;
        v = u;
        u = A + packed(r);
        const Doubles vr = v[r], qr = q[r];
        square = 0.0;
        for (int c = 0; c < r; ++c) {
            const Doubles x = u[c] - vr * q[c] - qr * v[c];
            u[c] = x;
            square = square + x * x;
        }
        d[r] = u[r] - Doubles(2.0) * vr * qr;
        if (r == 1) {
            e[0] = u[0];
            inverse[1] = 0.0;
            d[0] = A[0] - Doubles(2.0) * v[0] * q[0];
            break;
        }
        reflection(A, r, square, e, inverse);
    }
}

// The eigenvalue, nearer to the first diagonal element, of each lane's first 2 × 2 block that is not diagonal.
static Doubles shift_of(const Doubles *d, const Doubles *e, int n, int start, Doubles tolerance) {
    Doubles upper = d[start], side = e[start], lower = d[start + 1];
    Mask<double> cut = absolute(side) <= tolerance;
    for (int i = start + 1; i < n - 1 && any_lane(cut); ++i) {
        upper = where(cut, d[i], upper);
        lower = where(cut, d[i + 1], lower);
        side = where(cut, e[i], side);
        cut = cut & (absolute(side) <= tolerance);
    }
    side = where(cut, Doubles(1.0), side);  // lanes that are done
    const Doubles half = (lower - upper) * 0.5 / side;
    return upper - side / (half + copysign(sqrt(half * half + 1.0), half));
}

// Implicit QL with Wilkinson's shift: d becomes λ. Returns the number of sweeps, or -1 without convergence.
//
// Sweep k rotates the planes (i, i+1) for i = n-2 down to starts[k]; their cosines and sines alternate in `rotations`. An
// off-diagonal element within the tolerance cuts the matrix, separately in each lane: its plane is not rotated and the
// bulge chase starts again above it, so every sweep works on the first eigenvalue that is still missing in each lane.
template <class T>
int diagonalize(Doubles *d, Doubles *e, int n, Doubles tolerance, Vec<T> *rotations, int32_t *starts, int64_t limit) {
    const Doubles zero = 0.0, one = 1.0;
    int start = 0, sweeps = 0;
    int64_t used = 0;
    for (;;) {
        while (start < n - 1 && !any_lane(absolute(e[start]) > tolerance)) ++start;
        if (start == n - 1) return sweeps;
        if (used + n - 1 - start > limit) return -1;
        const Doubles sigma = shift_of(d, e, n, start, tolerance);
        Doubles below = d[n - 1], g = below - sigma, c = one, s = one, p = zero;
        Mask<double> fresh = zero < one;
        for (int i = n - 2; i >= start; --i) {
            const Doubles here = d[i], side = e[i];
            const Mask<double> cut = absolute(side) <= tolerance;
            const Doubles f = s * side, b = c * side, square = f * f + g * g;
            const Mask<double> skip = cut | (square < Doubles(TINY));
            const Doubles length = sqrt(square), inverse = one / length;
            s = where(skip, zero, f * inverse);
            c = where(skip, one, g * inverse);
            rotations[2 * used] = convert<T>(c);
            rotations[2 * used + 1] = convert<T>(s);
            ++used;
            const Doubles diagonal = below - p, r = (here - diagonal) * s + Doubles(2.0) * c * b;
            p = s * r;
            d[i + 1] = diagonal + p;
            e[i + 1] = where(fresh, zero, where(cut, g, length));
            g = where(cut, here - sigma, c * r - b);
            s = where(cut, one, s);
            fresh = cut;
            below = here;
        }
        d[start] = below - p;
        e[start] = where(fresh, zero, g);
        starts[sweeps++] = start;
    }
}

// G ← R G for a lower triangular G, column block by column block, last sweep first.
//
// Column j is zero above row j until a sweep starts above that row, so the sweeps after that one skip it.
template <class T>
void rotate(Block<T> *G, int n, int rows, int blocks, const Vec<T> *rotations, const int32_t *starts, int sweeps) {
    constexpr int W = Block<T>::W;
    int64_t end = 0;
    for (int k = 0; k < sweeps; ++k) end += n - 1 - starts[k];
    for (int block = blocks - 1; block >= 0; --block) {
        const int rightmost = n - 1 - (blocks - 1 - block) * W;
        while (sweeps > 0 && starts[sweeps - 1] > rightmost) end -= n - 1 - starts[--sweeps];
        int64_t at = end;
        for (int k = sweeps - 1; k >= 0; --k) {
            Block<T> *here = G + rows * block + starts[k], g = *here;
            for (int i = starts[k]; i < n - 1; ++i, ++here) {
                --at;
                const Vec<T> c = rotations[2 * at], s = rotations[2 * at + 1];
                const Block<T> x = here[1];
                here[0] = c * g + s * x;
                g = (c * x).less(s, g);
            }
            *here = g;
        }
    }
}

// Reflections scaled to I - v vᵀ in the precision of V, a zero after each, and vᵢ·vᵢ₊₁ of those that `reflect` joins.
template <class T> void unit_reflections(Doubles *A, const Doubles *inverse, int n, Vec<T> *V, Vec<T> *cross) {
    for (int i = 1; i < n; ++i) {
        const int64_t row = packed(i);
        const Doubles factor = sqrt(inverse[i]);
        Doubles dot = 0.0;
        for (int r = 0; r < i; ++r) {
            const Doubles x = A[row + r] * factor;
            A[row + r] = x;
            V[row + r] = convert<T>(x);
            if (r < i - 1) dot = dot + x * A[row - i + r];
        }
        V[row + i] = 0.0;
        cross[i - 1] = convert<T>(dot);
    }
}

// G ← Q G, column block by column block, two reflections at a time.
//
// The dot products y, z with the next two reflections are computed while the last two are applied. For odd n, the first
// reflection is the identity.
template <class T> void reflect(Block<T> *G, int n, int rows, int blocks, const Vec<T> *V, const Vec<T> *cross) {
    const int first = 2 - n % 2;
    for (int block = 0; block < blocks; ++block) {
        Block<T> *base = G + rows * block;
        const Vec<T> *a = V + packed(first), *b = a + first + 1;
        Block<T> y = no_block<T>(), z = y;
        for (int r = 0; r <= first; ++r) {
            if (r < first) y = y + a[r] * base[r];
            z = z + b[r] * base[r];
        }
        for (int i = first; i < n - 1; i += 2) {
            z = z.less(cross[i], y);
            const Vec<T> *c = b + i + 2, *d = c + i + 3;
            if (i == n - 2) {
                for (int r = 0; r < i; ++r) base[r] = base[r].less(a[r], y).less(b[r], z);
                base[i] = base[i].less(b[i], z);
                break;
            }
            Block<T> next_y = no_block<T>(), next_z = next_y;
            for (int r = 0; r < i; ++r) {
                const Block<T> x = base[r].less(a[r], y).less(b[r], z);
                base[r] = x;
                next_y = next_y + c[r] * x;
                next_z = next_z + d[r] * x;
            }
            const Block<T> x = base[i].less(b[i], z);
            base[i] = x;
            y = next_y + c[i] * x + c[i + 1] * base[i + 1];
            z = next_z + d[i] * x + d[i + 1] * base[i + 1] + d[i + 2] * base[i + 2];
            a = c;
            b = d;
        }
    }
}

}  // namespace kn
