// Powers of batches of symmetric matrices.
#include "powers.h"

using namespace kn;

namespace {

template <class T> struct BatchRoom {
    Doubles *A;
    int64_t *positions;  // of each entry of a full matrix in its packed lower triangle
    T *edge;             // the last group, which has neighbours' places on all sides
    PowerRoom<T> power;
    BatchRoom(int n, Room &room)
        : A(room.take<Doubles>(packed(n) + LANES)), positions(room.take<int64_t>((int64_t)n * n)),
          edge(room.take<T>((int64_t)(LANES + 1) * n * n + LANES)), power(n, room) {}
};

template <class T>
bool group(const T *source, T *target, int n, double power, BatchRoom<T> &room) {
    const int64_t size = (int64_t)n * n;
    // Values read beyond the end of a row are overwritten by the next row.
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; j += LANES) gather(source + i * n + j, size, room.A + packed(i) + j);
    if (!power_of<T>(room.A, n, power, nullptr, room.power)) return false;
    const auto offset = [size](int q) { return q * size; };
    for (int64_t k = 0; k + LANES <= size; k += LANES)
        scatter(room.power.F, room.positions + k, target + k, offset);
    scatter(room.power.F, room.positions + size - LANES, target + size - LANES, offset);
    return true;
}

template <class T>
int32_t powers(const T *A, int64_t n_batch, int n, double power, void *memory, T *out, uint8_t *failed) {
    Room space = {(char *)memory};
    BatchRoom<T> room(n, space);
    const int64_t size = (int64_t)n * n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) room.positions[i * n + j] = packed(i > j ? i : j) + (i > j ? j : i);
    int32_t status = KN_OK;
    for (int64_t first = 0; first < n_batch; first += LANES) {
        const int64_t count = n_batch - first < LANES ? n_batch - first : LANES;
        const T *source = A + first * size;
        T *target = out + first * size;
        bool found;
        if (first + LANES < n_batch)  // the last group is always copied, since reading goes past its end
            found = group(source, target, n, power, room);
        else {
            for (int64_t k = 0; k < (LANES + 1) * size + LANES; ++k) room.edge[k] = k < count * size ? source[k] : 0;
            found = group(room.edge, room.edge, n, power, room);
            if (found)
                for (int64_t k = 0; k < count * size; ++k) target[k] = room.edge[k];
        }
        for (int64_t q = 0; q < count; ++q) failed[first + q] = !found;
        if (!found) {
            status = KN_NOT_CONVERGED;
            for (int64_t k = 0; k < count * size; ++k) target[k] = source[k];
        }
    }
    return status;
}

template <class T> int64_t room_of(int n) {
    Room measure = {nullptr};
    BatchRoom<T> room(n, measure);
    return (int64_t)measure.at;
}

}  // namespace

KN_API int64_t kn_psd_power_room(int32_t precision, int32_t n) {
    return precision == KN_FLOAT64 ? room_of<double>(n) : room_of<float>(n);
}

KN_API int32_t kn_psd_power(int32_t precision, const void *A, int64_t n_batch, int32_t n, double power, void *room,
                            void *out, uint8_t *failed) {
    if (n < 4) return KN_BAD_ARGUMENT;
    if (precision == KN_FLOAT64)
        return powers((const double *)A, n_batch, n, power, room, (double *)out, failed);
    return powers((const float *)A, n_batch, n, power, room, (float *)out, failed);
}
