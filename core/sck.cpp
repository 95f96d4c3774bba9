// SCK of order 2 from frames to features, LANES rows at a time.
//
//     A = 1/(T√J) Σ_s v_s v_sᵀ  →  A^γ  →  unique entries
//
// Only frames are read and only features are written; sums are float64 also for float32 data: a power of 0.3 turns rounding
// errors of 1e-7 into 8e-3.
#include "frames.h"
#include "powers.h"

using namespace kn;

namespace {

constexpr int LEAST = 4;  // the smallest order of a matrix whose power is computed; smaller ones are filled with zeros

template <class T> struct SumRoom {
    int64_t d, wide;
    Doubles *U, *A, *V, *X;
    int64_t *order;  // the position of entry (i, j), i ≤ j, in a packed lower triangle
    PowerRoom<T> power;
    SumRoom(const kn_vectors &given, Room &room)
        : d(given.size), wide(padded(d)), U(room.take<Doubles>(wide * wide)), A(room.take<Doubles>(packed(wide))),
          V(room.take<Doubles>(CHUNK * wide)), X(room.take<Doubles>(given.n_coordinates + 1)),
          order(room.take<int64_t>(packed(d))), power(d < LEAST ? LEAST : (int)d, room) {}
};

// A^γ of the sums into packed room.power.F; false if one did not converge.
template <class T> bool raise(double power, const double *poles, SumRoom<T> &room) {
    const int64_t n = room.d < LEAST ? LEAST : room.d;
    Doubles *a = room.A;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) *a++ = i < room.d ? room.U[i * room.wide + j] : Doubles(0.0);
    if (power != 1.0) return power_of<T>(room.A, (int)n, power, poles, room.power);
    for (int64_t k = 0; k < packed(room.d); ++k) room.power.F[k] = convert<T>(room.A[k]);
    return true;
}

template <class T>
int32_t features(const kn_vectors &given, double power, const double *poles, int64_t first_group, int64_t last_group,
                 void *memory, T *out, uint8_t *failed) {
    Room space = {(char *)memory};
    SumRoom<T> room(given, space);
    const int64_t d = room.d, wide = room.wide, n_entries = packed(d), n_rows = given.n_recordings * given.n_rows;
    int64_t at = 0;
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = i; j < d; ++j) room.order[at++] = packed(j) + i;
    for (int64_t k = 0; k < CHUNK * wide; ++k) room.V[k] = 0.0;  // padding of a vector stays zero
    int32_t status = KN_OK;
    for (int64_t group = first_group; group < last_group; ++group) {
        const int64_t first = group * LANES, left = n_rows - first;
        const Rows rows(given, first, left < LANES ? left : LANES, 2, n_entries);
        for (int64_t k = 0; k < wide * wide; ++k) room.U[k] = 0.0;
        for (int64_t start = 0; start < rows.longest; start += CHUNK) {
            const int64_t count = rows.longest - start < CHUNK ? rows.longest - start : CHUNK;
            for (int64_t s = 0; s < count; ++s) {
                read_frame<T>(given, rows, start + s, room.X, room.V + s * wide);
                map_frame(given, room.X, room.V + s * wide);
            }
            add_squares(room.V, count, wide, room.U);
        }
        failed[group - first_group] = !raise(power, poles, room);
        if (failed[group - first_group]) {
            status = KN_NOT_CONVERGED;
            continue;
        }
        Vec<T> *F = room.power.F;
        at = 0;
        for (int64_t i = 0; i < d; ++i, ++at)
            for (int64_t j = 0; j < i; ++j, ++at) F[at] *= Vec<T>(1.4142135623730951);
        const auto offset = [&rows](int q) { return rows.offset[q]; };
        if (n_entries < LANES) {
            for (int q = 0; q < LANES; ++q)
                for (int64_t k = 0; k < n_entries; ++k) out[rows.offset[q] + k] = F[room.order[k]].get(q);
            continue;
        }
        for (int64_t k = 0; k + LANES <= n_entries; k += LANES) scatter(F, room.order + k, out + k, offset);
        scatter(F, room.order + n_entries - LANES, out + n_entries - LANES, offset);
    }
    return status;
}

template <class T> int64_t room_of(const kn_vectors &given) {
    Room measure = {nullptr};
    SumRoom<T> room(given, measure);
    return (int64_t)measure.at;
}

}  // namespace

KN_API int32_t kn_sck_poles(void) { return POLES; }

KN_API int64_t kn_sck2_room(int32_t precision, const kn_vectors *vectors) {
    return precision == KN_FLOAT64 ? room_of<double>(*vectors) : room_of<float>(*vectors);
}

KN_API int32_t kn_sck2(int32_t precision, const kn_vectors *vectors, double power, const double *poles, int64_t first,
                       int64_t last, void *room, void *out, uint8_t *failed) {
    if (precision == KN_FLOAT64) return features(*vectors, power, poles, first, last, room, (double *)out, failed);
    return features(*vectors, power, poles, first, last, room, (float *)out, failed);
}
