// Vectors v of frames of recordings, LANES rows at a time: the first step of SCK of every order.
//
//     v_s = [√β₁ φ(x_s); √β₂ z(s/T)] / (T√J)^{1/r}
//
// In float64 also for float32 data. Pivots are evenly spaced: φ_{k+1}(x) = φ_k(x) · e^{2xΔ/σ²} · const, two exponentials per
// coordinate.
#pragma once
#include "lanes.h"

namespace kn {

constexpr int CHUNK = 8;       // frames whose vectors stay in the first cache
constexpr double FAR = 700.0;  // larger exponents give zero; products of factors within it stay in the range of float64

// The rows of LANES lanes; lanes beyond the last row repeat it.
struct Rows {
    struct Lane {
        int64_t start, n_frames, time, i, j;
    } lane[LANES];
    Doubles share;           // 1/(T√J)^{1/r}
    int64_t offset[LANES];   // of a lane's features, in features
    int64_t longest;

    // Row r is row r % n_rows of recording r / n_rows.
    Rows(const kn_vectors &given, int64_t first, int64_t count, int order, int64_t n_features) : longest(0) {
        for (int q = 0; q < LANES; ++q) {
            const int64_t row = first + (q < count ? q : count - 1);
            const int64_t *place = given.places + 4 * (row / given.n_rows);
            const int64_t p = row % given.n_rows;
            lane[q] = {place[0], place[1], place[2], given.rows[2 * p], given.rows[2 * p + 1]};
            share.set(q, 1.0 / ((double)place[1] * root((double)given.n_rows)));
            offset[q] = (place[3] * given.n_rows + p) * n_features;
            if (place[1] > longest) longest = place[1];
        }
        if (order == 2) share = sqrt(share);
        if (order > 2) share = positive_power(share, 1.0 / order);
    }
};

// The coordinates of frame s and their weight (zero after the last frame) into X, and z into the last entries of v.
template <class T> void read_frame(const kn_vectors &given, const Rows &rows, int64_t s, Doubles *X, Doubles *v) {
    const T *const *coordinates = (const T *const *)given.coordinates, *scales = (const T *)given.scales;
    const int64_t W = given.n_coordinates, n_times = given.n_times;
    double *x = (double *)X, *z = (double *)(v + given.size - n_times);
    for (int q = 0; q < LANES; ++q) {
        const Rows::Lane &lane = rows.lane[q];
        const int64_t at = s < lane.n_frames ? s : lane.n_frames - 1;
        const double counts = s < lane.n_frames ? rows.share.get(q) : 0.0;
        const int64_t frame = (lane.start + at) * given.frame_step;
        const int64_t i = frame + lane.i * given.joint_step, j = frame + lane.j * given.joint_step;
        if (lane.j < 0)
            for (int64_t w = 0; w < W; ++w) x[w * LANES + q] = (double)(coordinates[w][i] * scales[w]);
        else
            for (int64_t w = 0; w < W; ++w)
                x[w * LANES + q] = (double)((coordinates[w][i] - coordinates[w][j]) * scales[w]);
        x[W * LANES + q] = counts;
        const double *time = given.times + (lane.time + at) * n_times;
        for (int64_t p = 0; p < n_times; ++p) z[p * LANES + q] = time[p] * counts;
    }
    for (int64_t k = 0; k < W / given.n_axes; ++k)
        if (given.unit >> k & 1) {
            Doubles *y = X + given.n_axes * k, square = 0.0;
            for (int64_t c = 0; c < given.n_axes; ++c) square = square + y[c] * y[c];
            const Mask<double> some = square > Doubles(0.0);
            const Doubles inverse = where(some, Doubles(1.0) / sqrt(where(some, square, Doubles(1.0))), Doubles(0.0));
            for (int64_t c = 0; c < given.n_axes; ++c) y[c] *= inverse;
        }
}

// φ of every coordinate in X into v.
KN_INLINE void map_frame(const kn_vectors &given, const Doubles *X, Doubles *v) {
    const Doubles counts = X[given.n_coordinates];
    for (int64_t r = 0; r < given.n_runs; ++r) {
        const int64_t place = given.runs[3 * r], n = given.runs[3 * r + 1], direct = given.runs[3 * r + 2];
        const double *factors = given.factors + r * given.n_factors;
        const double first = factors[0], spacing = factors[1], inverse = factors[2], amplitude = factors[3];
        const Doubles x = X[place], gap = x - first, scale = counts * amplitude;
        Doubles value = exp(gap * gap * -inverse) * scale;
        *v++ = value;
        if (direct)
            for (int64_t k = 1; k < n; ++k) {
                const Doubles rest = gap - (double)k * spacing;
                *v++ = exp(rest * rest * -inverse) * scale;
            }
        else if (n > 1) {
            const Doubles limit = FAR / (double)n;  // at this limit every φ is zero
            Doubles grow = x * (2.0 * spacing * inverse);
            grow = where(absolute(grow) < limit, grow, copysign(limit, grow));
            const Doubles step = exp(grow);
            for (int64_t k = 1; k < n; ++k) {
                value = value * step * factors[3 + k];
                *v++ = value;
            }
        }
    }
}

constexpr int TILE = 4;  // rows and columns of a block of A that is summed at once; two rows at a time fit into registers

constexpr int64_t padded(int64_t d) { return (d + TILE - 1) / TILE * TILE; }

// U[i, j] += Σ_s v_i v_j over some frames, for the blocks of i ≥ j; v and the rows of U have `wide` entries.
inline void add_squares(const Doubles *V, int64_t count, int64_t wide, Doubles *U) {
    for (int64_t i = 0; i < wide; i += 2)
        for (int64_t j = 0; j <= i; j += TILE) {
            Doubles *a = U + i * wide + j, *b = a + wide;
            Doubles x0 = a[0], x1 = a[1], x2 = a[2], x3 = a[3], y0 = b[0], y1 = b[1], y2 = b[2], y3 = b[3];
            const Doubles *v = V;
            for (int64_t s = 0; s < count; ++s, v += wide) {
                const Doubles p = v[i], q = v[i + 1], v0 = v[j], v1 = v[j + 1], v2 = v[j + 2], v3 = v[j + 3];
                x0 = x0 + p * v0; x1 = x1 + p * v1; x2 = x2 + p * v2; x3 = x3 + p * v3;
                y0 = y0 + q * v0; y1 = y1 + q * v1; y2 = y2 + q * v2; y3 = y3 + q * v3;
            }
            a[0] = x0; a[1] = x1; a[2] = x2; a[3] = x3;
            b[0] = y0; b[1] = y1; b[2] = y2; b[3] = y3;
        }
}

}  // namespace kn
