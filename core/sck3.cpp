// SCK of orders 1 and 3 from frames to features, LANES rows at a time.
//
//     T = 1/(T√J) Σ_s v_s ⊗ v_s ⊗ v_s  →  slices to the power γ  →  entries        t = 1/(T√J) Σ_s v_s  →  t^γ
//
// Only frames are read and only features are written: the tensor's d(d+1)(d+2)/6 different entries, summed in float64 also
// for float32 data, stay in the cache. If fewer than LANES rows are left, their slices share the lanes.
#include "frames.h"
#include "powers.h"

using namespace kn;

namespace {

constexpr int64_t LEAST = 4;  // the smallest order of a matrix whose power is computed; smaller ones are filled with zeros

// Before entry (i, j, k), i ≥ j ≥ k, of a symmetric tensor.
constexpr int64_t cubic(int64_t i) { return i * (i + 1) * (i + 2) / 6; }

template <class T> struct SumRoom {
    int64_t d, n;
    Doubles *U, *A, *V, *X, *P;
    Vec<T> *E;       // features
    int64_t *order;  // of the features
    PowerRoom<T> power;
    SumRoom(const kn_vectors &given, int64_t n_entries, Room &room)
        : d(given.size), n(d < LEAST ? LEAST : d), U(room.take<Doubles>(cubic(d))),
          A(room.take<Doubles>(packed(n) + LANES)), V(room.take<Doubles>(CHUNK * d)),
          X(room.take<Doubles>(given.n_coordinates + 1)), P(room.take<Doubles>(CHUNK)), E(room.take<Vec<T>>(n_entries)),
          order(room.take<int64_t>(n_entries)), power((int)n, room) {
    }
};

// U += Σ_s v_i v_j v_k over some frames, i ≥ j ≥ k.
void add_cubes(const Doubles *V, Doubles *P, int64_t count, int64_t d, Doubles *U) {
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j) {
            for (int64_t s = 0; s < count; ++s) P[s] = V[s * d + i] * V[s * d + j];
            int64_t k = 0;
            for (; k + 4 <= j + 1; k += 4, U += 4) {
                Doubles x0 = U[0], x1 = U[1], x2 = U[2], x3 = U[3];
                for (int64_t s = 0; s < count; ++s) {
                    const Doubles p = P[s], *v = V + s * d + k;
                    x0 = x0 + p * v[0];
                    x1 = x1 + p * v[1];
                    x2 = x2 + p * v[2];
                    x3 = x3 + p * v[3];
                }
                U[0] = x0;
                U[1] = x1;
                U[2] = x2;
                U[3] = x3;
            }
            for (; k <= j; ++k, ++U) {
                Doubles x = U[0];
                for (int64_t s = 0; s < count; ++s) x = x + P[s] * V[s * d + k];
                U[0] = x;
            }
        }
}

// use(n, at) for every packed entry n of slice k, whose value is entry `at` of the tensor.
template <class Use> KN_INLINE void each_entry(int64_t d, int64_t k, Use use) {
    int64_t n = 0;
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j <= i; ++j, ++n)
            use(n, k > i ? cubic(k) + packed(i) + j : k > j ? cubic(i) + packed(k) + j : cubic(i) + packed(j) + k);
}

// Slice k of n_rows rows takes part of the lanes from `first` on, where lane q has `first + q = k n_rows + r` for row r.
struct Share {
    int lane, end, row;  // first and last lane, row of the first
    Share(int64_t k, int64_t first, int64_t n_rows) {
        const int64_t start = k * n_rows - first, stop = start + n_rows;
        lane = (int)(start > 0 ? start : 0);
        end = (int)(stop < LANES ? stop : LANES);
        row = (int)(start < 0 ? -start : 0);
    }
};

// Slices from `first` on into the lanes of A.
template <class T> void deal(int64_t first, int64_t n_rows, SumRoom<T> &room) {
    const int64_t d = room.d, last = (first + LANES - 1) / n_rows + 1;
    double *A = (double *)room.A;
    const double *U = (const double *)room.U;
    for (int64_t k = first / n_rows; k < (last < d ? last : d); ++k) {
        const Share share(k, first, n_rows);
        each_entry(d, k, [&](int64_t n, int64_t at) {
            for (int q = 0; q < share.end - share.lane; ++q)
                A[n * LANES + share.lane + q] = U[at * LANES + share.row + q];
        });
    }
    for (int64_t lane = n_rows * d - first; lane < LANES; ++lane)  // not read, but they must converge
        for (int64_t n = 0; n < packed(d); ++n) A[n * LANES + lane] = A[n * LANES];
}

// A^γ into packed room.power.F; false if one did not converge.
template <class T> bool raise(double power, const double *poles, SumRoom<T> &room) {
    if (power != 1.0) {
        for (int64_t n = packed(room.d); n < packed(room.n); ++n) room.A[n] = 0.0;
        return power_of<T>(room.A, (int)room.n, power, poles, room.power);
    }
    for (int64_t n = 0; n < packed(room.d); ++n) room.power.F[n] = convert<T>(room.A[n]);
    return true;
}

// Features of all rows from the slices in room.U; false if one did not converge.
template <class T>
bool entries(const kn_entries &wanted, int64_t n_rows, double power, const double *poles, SumRoom<T> &room) {
    const int64_t d = room.d;
    for (int64_t k = 0; k < wanted.n_entries; ++k) room.E[k] = 0.0;
    for (int64_t first = 0; first < n_rows * d; first += LANES) {
        const int64_t slice = first / n_rows, last = (first + LANES - 1) / n_rows + 1;
        if (n_rows == LANES)
            each_entry(d, slice, [&](int64_t n, int64_t at) { room.A[n] = room.U[at]; });
        else
            deal(first, n_rows, room);
        if (!raise(power, poles, room)) return false;
        const T *F = (const T *)room.power.F;
        T *E = (T *)room.E;
        for (int64_t k = slice; k < (last < d ? last : d); ++k) {
            const Share share(k, first, n_rows);
            for (int64_t m = wanted.begins[k]; m < wanted.begins[k + 1]; ++m) {
                const int64_t source = wanted.sources[m], target = wanted.targets[m];
                if (n_rows == LANES)
                    room.E[target] += room.power.F[source] * Vec<T>(wanted.weights[m]);
                else {
                    const T weight = (T)wanted.weights[m];
                    for (int q = 0; q < share.end - share.lane; ++q) {
                        T *e = E + target * LANES + share.row + q;
                        *e = *e + F[source * LANES + share.lane + q] * weight;
                    }
                }
            }
        }
    }
    return true;
}

template <class T> void put(const Vec<T> *E, const int64_t *order, int64_t n_entries, const Rows &rows, int64_t n_rows, T *out) {
    if (n_entries < LANES || n_rows < LANES) {
        for (int q = 0; q < n_rows; ++q)
            for (int64_t k = 0; k < n_entries; ++k) out[rows.offset[q] + k] = E[k].get(q);
        return;
    }
    const auto offset = [&rows](int q) { return rows.offset[q]; };
    for (int64_t k = 0; k + LANES <= n_entries; k += LANES) scatter(E, order + k, out + k, offset);
    scatter(E, order + n_entries - LANES, out + n_entries - LANES, offset);
}

template <class T>
int32_t cubes(const kn_vectors &given, double power, const double *poles, const kn_entries &wanted, int64_t first_row,
              int64_t last_row, void *memory, T *out, uint8_t *failed) {
    Room space = {(char *)memory};
    SumRoom<T> room(given, wanted.n_entries, space);
    const int64_t d = room.d;
    for (int64_t k = 0; k < wanted.n_entries; ++k) room.order[k] = k;
    int32_t status = KN_OK;
    for (int64_t first = first_row; first < last_row; first += LANES) {
        const int64_t n_rows = last_row - first < LANES ? last_row - first : LANES;
        const Rows rows(given, first, n_rows, 3, wanted.n_entries);
        for (int64_t k = 0; k < cubic(d); ++k) room.U[k] = 0.0;
        for (int64_t start = 0; start < rows.longest; start += CHUNK) {
            const int64_t count = rows.longest - start < CHUNK ? rows.longest - start : CHUNK;
            for (int64_t s = 0; s < count; ++s) {
                read_frame<T>(given, rows, start + s, room.X, room.V + s * d);
                map_frame(given, room.X, room.V + s * d);
            }
            add_cubes(room.V, room.P, count, d, room.U);
        }
        const bool found = entries(wanted, n_rows, power, poles, room);
        for (int64_t row = first; row < first + n_rows; ++row) failed[row - first_row] = !found;
        if (found) put(room.E, room.order, wanted.n_entries, rows, n_rows, out);
        else status = KN_NOT_CONVERGED;
    }
    return status;
}

// Σ_s v_s to the power.
template <class T>
void vectors(const kn_vectors &given, double power, int64_t first_row, int64_t last_row, void *memory, T *out) {
    Room space = {(char *)memory};
    SumRoom<T> room(given, given.size, space);
    const int64_t d = room.d;
    Doubles *total = room.V + d;
    for (int64_t k = 0; k < d; ++k) room.order[k] = k;
    for (int64_t first = first_row; first < last_row; first += LANES) {
        const int64_t n_rows = last_row - first < LANES ? last_row - first : LANES;
        const Rows rows(given, first, n_rows, 1, d);
        for (int64_t k = 0; k < d; ++k) total[k] = 0.0;
        for (int64_t s = 0; s < rows.longest; ++s) {
            read_frame<T>(given, rows, s, room.X, room.V);
            map_frame(given, room.X, room.V);
            for (int64_t k = 0; k < d; ++k) total[k] = total[k] + room.V[k];
        }
        for (int64_t k = 0; k < d; ++k) {
            const Mask<double> some = total[k] > Doubles(1e-300);
            if (power != 1.0)
                total[k] = where(some, positive_power(where(some, total[k], Doubles(1.0)), power), Doubles(0.0));
            room.E[k] = convert<T>(total[k]);
        }
        put(room.E, room.order, d, rows, n_rows, out);
    }
}

template <class T> int64_t room_of(const kn_vectors &given, int64_t n_entries) {
    Room measure = {nullptr};
    SumRoom<T> room(given, n_entries, measure);
    return (int64_t)measure.at;
}

}  // namespace

KN_API int64_t kn_sck3_room(int32_t precision, const kn_vectors *vectors, int64_t n_entries) {
    return precision == KN_FLOAT64 ? room_of<double>(*vectors, n_entries) : room_of<float>(*vectors, n_entries);
}

KN_API int32_t kn_sck3(int32_t precision, const kn_vectors *vectors, double power, const double *poles,
                       const kn_entries *entries, int64_t first, int64_t last, void *room, void *out, uint8_t *failed) {
    if (precision == KN_FLOAT64)
        return cubes(*vectors, power, poles, *entries, first, last, room, (double *)out, failed);
    return cubes(*vectors, power, poles, *entries, first, last, room, (float *)out, failed);
}

KN_API int32_t kn_sck1(int32_t precision, const kn_vectors *given, double power, int64_t first, int64_t last, void *room,
                       void *out) {
    if (precision == KN_FLOAT64) vectors(*given, power, first, last, room, (double *)out);
    else vectors(*given, power, first, last, room, (float *)out);
    return KN_OK;
}
