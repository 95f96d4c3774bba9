// Passes over Gram matrices of blocks: each entry is read once, and no temporary array is as large as a block.
#include "rows.h"

using namespace kn;

namespace {

constexpr int TOGETHER = 8, TILE = 256;  // blocks and columns whose float64 copies stay in the L1 cache
constexpr int SIDES = 4;                 // training sides that share the loads of a row

template <class T> double mean_of(const T *block, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
        Doubles part = 0.0;
        for (int64_t j = 0; j < n; j += LANES) part += convert<double>(load(block + i * n + j, n - j));
        total += sum(part) / (double)n;
    }
    return total / (double)n;
}

struct AlignmentRoom {
    double *x, *alike;         // (n) a row less the mean of its block; its entries of the row's class; whole vectors
    double *sides, *by_class;  // (n_sides, n) whole vectors; the same with columns sorted by class
    int64_t *order, *start;    // (n) positions sorted by class; (n + 1) where each class begins
    Doubles *square, *inner;   // (n_sides) sums over rows
    int64_t size;
    AlignmentRoom(int64_t n, int64_t n_sides, Room &room)
        : x(room.take<double>(whole_vectors(n))), alike(room.take<double>(whole_vectors(n))),
          sides(room.take<double>(n_sides * whole_vectors(n))),
          by_class(room.take<double>(n_sides * whole_vectors(n) + LANES)), order(room.take<int64_t>(n)),
          start(room.take<int64_t>(n + 1)), square(room.take<Doubles>(n_sides)), inner(room.take<Doubles>(n_sides)),
          size(whole_vectors(n)) {}

    void sort(const int64_t *codes, const double *given, int64_t n, int64_t n_sides) {
        for (int64_t c = 0; c <= n; ++c) start[c] = 0;
        for (int64_t i = 0; i < n; ++i) ++start[codes[i] + 1];
        for (int64_t c = 0; c < n; ++c) start[c + 1] += start[c];
        for (int64_t i = 0; i < n; ++i) order[start[codes[i]]++] = i;
        for (int64_t c = n; c > 0; --c) start[c] = start[c - 1];
        start[0] = 0;
        for (int64_t k = 0; k < n_sides * size; ++k) sides[k] = by_class[k] = 0;
        for (int k = 0; k < LANES; ++k) by_class[n_sides * size + k] = 0;
        for (int64_t f = 0; f < n_sides; ++f)
            for (int64_t j = 0; j < n; ++j) {
                sides[f * size + j] = given[f * n + j];
                by_class[f * size + j] = given[f * n + order[j]];
            }
    }
};

// The sums over N training sides of a row: r = Σ x, and Σ x² and Σ alike, which are added to those of other rows.
template <int N>
KN_INLINE void add_row(const AlignmentRoom &room, int64_t first, int64_t n_alike, const int64_t *which, double *r) {
    Doubles total[N], square[N];
    const double *side[N];
    for (int q = 0; q < N; ++q) {
        total[q] = 0.0;
        square[q] = room.square[which[q]];
        side[q] = room.sides + which[q] * room.size;
    }
    for (int64_t j = 0; j < room.size; j += LANES) {
        const Doubles x = load(room.x + j);
        for (int q = 0; q < N; ++q) {
            const Doubles here = x * load(side[q] + j);
            total[q] += here;
            square[q] += here * x;
        }
    }
    for (int q = 0; q < N; ++q) {
        r[q] = sum(total[q]);
        room.square[which[q]] = square[q];
        Doubles inner = room.inner[which[q]];
        const double *own = room.by_class + which[q] * room.size + first;
        for (int64_t j = 0; j < n_alike; j += LANES) inner += load(room.alike + j) * load(own + j);
        room.inner[which[q]] = inner;
    }
}

template <class T>
void alignment(const T *block, int64_t n, const int64_t *codes, const double *sides, const double *counts,
               int64_t n_sides, AlignmentRoom room, double *out) {
    const double mean = mean_of(block, n);
    for (int64_t k = 0; k < 6 * n_sides; ++k) out[k] = 0;
    for (int64_t f = 0; f < n_sides; ++f) room.square[f] = room.inner[f] = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; j += LANES)
            store(room.x + j, convert<double>(load(block + i * n + j, n - j)) - Doubles(mean));
        const int64_t first = room.start[codes[i]], n_alike = room.start[codes[i] + 1] - first;
        for (int64_t j = 0; j < n_alike; ++j) room.alike[j] = room.x[room.order[first + j]];
        for (int64_t j = n_alike; j < whole_vectors(n_alike); ++j) room.alike[j] = 0;
        int64_t which[SIDES];
        double r[SIDES];
        for (int64_t f = 0; f < n_sides;) {
            int n_here = 0;
            for (; f < n_sides && n_here < SIDES; ++f)
                if (sides[f * n + i] > 0) which[n_here++] = f;
            if (n_here == SIDES) add_row<SIDES>(room, first, n_alike, which, r);
            else
                for (int q = 0; q < n_here; ++q) add_row<1>(room, first, n_alike, which + q, r + q);
            for (int q = 0; q < n_here; ++q) {
                double *target = out + 6 * which[q];
                target[0] += r[q];
                target[1] += r[q] * r[q];
                target[2] += r[q] * counts[which[q] * n + i];
                target[5] += room.x[i];
            }
        }
    }
    for (int64_t f = 0; f < n_sides; ++f) {
        out[6 * f + 3] = sum(room.square[f]);
        out[6 * f + 4] = sum(room.inner[f]);
    }
}

// target += Σ_b w_b source_b of N sums; the blocks are added in order, whatever the tiles.
template <int N>
KN_INLINE void add_blocks(const double (*tile)[TILE], int n_here, const double *weights, int64_t n_blocks,
                          double *out, int64_t size, int64_t width) {
    for (int64_t j = 0; j < width; j += LANES) {
        Doubles total[N];
        for (int f = 0; f < N; ++f) total[f] = load(out + f * size + j, width - j);
        for (int b = 0; b < n_here; ++b) {
            const Doubles x = load(tile[b] + j);
            for (int f = 0; f < N; ++f) total[f] = total[f] + Doubles(weights[f * n_blocks + b]) * x;
        }
        for (int f = 0; f < N; ++f) store(out + f * size + j, total[f], width - j);
    }
}

template <class T>
void weighted(const double *weights, int64_t n_sums, const T *blocks, int64_t n_blocks, int64_t size, int64_t first,
              int64_t last, double *out) {
    alignas(64) double tile[TOGETHER][TILE];
    for (int64_t start = first; start < last; start += TILE) {
        const int64_t width = last - start < TILE ? last - start : TILE;
        for (int64_t f = 0; f < n_sums; ++f)
            for (int64_t j = 0; j < width; ++j) out[f * size + start + j] = 0;
        for (int64_t b = 0; b < n_blocks; b += TOGETHER) {
            const int n_here = n_blocks - b < TOGETHER ? (int)(n_blocks - b) : TOGETHER;
            for (int k = 0; k < n_here; ++k)
                for (int64_t j = 0; j < width; j += LANES)
                    store(tile[k] + j, convert<double>(load(blocks + (b + k) * size + start + j, width - j)));
            int64_t f = 0;
            for (; f + 2 <= n_sums; f += 2)
                add_blocks<2>(tile, n_here, weights + f * n_blocks + b, n_blocks, out + f * size + start, size, width);
            if (f < n_sums)
                add_blocks<1>(tile, n_here, weights + f * n_blocks + b, n_blocks, out + f * size + start, size, width);
        }
    }
}

struct CentreRoom {
    double *times;              // (n) how often a column is in the training side
    double *means, *scales;     // (n_rows)
    double *gathered;           // (n_train) entries of a row
    uint8_t *adjacent;          // whether the columns of a vector lie side by side in K
    CentreRoom(int64_t n, int64_t n_rows, int64_t n_train, Room &room)
        : times(room.take<double>(whole_vectors(n))), means(room.take<double>(whole_vectors(n_rows))),
          scales(room.take<double>(whole_vectors(n_rows))), gathered(room.take<double>(whole_vectors(n_train))),
          adjacent(room.take<uint8_t>(n_train / LANES + 1)) {}
};

void center_normalize(const double *K, int64_t n, const int64_t *rows, int64_t n_rows, int64_t n_train, bool center,
                      bool norm, CentreRoom room, double *out) {
    for (int64_t j = 0; j < whole_vectors(n); ++j) room.times[j] = 0;
    for (int64_t j = 0; j < n_train; ++j) room.times[rows[j]] += 1;
    double grand = 0;
    for (int64_t i = 0; i < n_rows; ++i) {
        Doubles total = 0.0;
        for (int64_t j = 0; center && j < n; j += LANES)
            total += load(K + rows[i] * n + j, n - j) * load(room.times + j);
        room.means[i] = center ? sum(total) / (double)n_train : 0;
        if (i < n_train) grand += room.means[i] / (double)n_train;
    }
    for (int64_t i = 0; i < n_rows; ++i) {
        // Smaller squares are rounding errors of K and of the mean.
        const double raw = K[rows[i] * n + rows[i]], noise = 1e-13 * (__builtin_fabs(raw) + __builtin_fabs(grand));
        const double square = raw - 2 * room.means[i] + grand;
        room.scales[i] = !norm ? 1 : square > noise ? 1 / root(square) : 0;
    }
    for (int64_t j = 0; j + LANES <= n_train; j += LANES) {
        bool adjacent = true;
        for (int k = 0; k < LANES; ++k) adjacent &= rows[j + k] == rows[j] + k;
        room.adjacent[j / LANES] = adjacent;
    }
    room.adjacent[n_train / LANES] = false;  // the last columns, less than a vector
    for (int64_t i = 0; i < n_rows; ++i, out += n_train) {
        const double *row = K + rows[i] * n;
        const Doubles shift = room.means[i] - grand, scale = room.scales[i];
        for (int64_t j = 0; j < n_train; j += LANES) {
            const double *source = row + rows[j];
            if (!room.adjacent[j / LANES]) {
                source = room.gathered + j;
                for (int64_t k = j; k < j + LANES && k < n_train; ++k) room.gathered[k] = row[rows[k]];
            }
            const Doubles x = load(source, n_train - j) - shift - load(room.means + j);
            store(out + j, x * scale * load(room.scales + j), n_train - j);
        }
    }
}

}  // namespace

KN_API int64_t kn_alignment_room(int64_t n, int64_t n_sides) {
    Room measure = {nullptr};
    AlignmentRoom room(n, n_sides, measure);
    return (int64_t)measure.at;
}

KN_API int32_t kn_alignment_sums(int32_t precision, const void *blocks, int64_t block_size, int64_t first, int64_t last,
                                 int64_t n, const int64_t *codes, const double *sides, const double *counts,
                                 int64_t n_sides, void *room, double *out) {
    Room space = {(char *)room};
    AlignmentRoom memory(n, n_sides, space);
    memory.sort(codes, sides, n, n_sides);
    for (int64_t b = first; b < last; ++b) {
        double *target = out + b * n_sides * 6;
        if (precision == KN_FLOAT64)
            alignment((const double *)blocks + b * block_size, n, codes, sides, counts, n_sides, memory, target);
        else alignment((const float *)blocks + b * block_size, n, codes, sides, counts, n_sides, memory, target);
    }
    return KN_OK;
}

KN_API int32_t kn_weighted_sums(int32_t precision, const double *weights, int64_t n_sums, const void *blocks,
                                int64_t n_blocks, int64_t size, int64_t first, int64_t last, double *out) {
    if (precision == KN_FLOAT64) weighted(weights, n_sums, (const double *)blocks, n_blocks, size, first, last, out);
    else weighted(weights, n_sums, (const float *)blocks, n_blocks, size, first, last, out);
    return KN_OK;
}

KN_API int64_t kn_center_normalize_room(int64_t n, int64_t n_rows, int64_t n_train) {
    Room measure = {nullptr};
    CentreRoom room(n, n_rows, n_train, measure);
    return (int64_t)measure.at;
}

KN_API int32_t kn_center_normalize(const double *K, int64_t n, const int64_t *rows, int64_t n_rows, int64_t n_train,
                                   int32_t center, int32_t norm, void *room, double *out) {
    Room space = {(char *)room};
    center_normalize(K, n, rows, n_rows, n_train, center, norm, CentreRoom(n, n_rows, n_train, space), out);
    return KN_OK;
}
