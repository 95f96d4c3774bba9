// Powers of batches of symmetric matrices.
#include "groups.h"
#include "powers.h"

using namespace kn;

namespace {

template <class T> struct BatchRoom {
    Doubles *A;
    int64_t *positions;  // of each entry of a full matrix in its packed lower triangle
    T *edge;             // see groups.h
    PowerRoom<T> power;
    BatchRoom(int n, Room &room)
        : A(room.take<Doubles>(packed(n) + LANES)), positions(room.take<int64_t>((int64_t)n * n)),
          edge(take_edge<T>(room, (int64_t)n * n)), power(n, room) {}
};

template <class T>
bool group(const T *source, T *target, int n, double power, BatchRoom<T> &room) {
    const int64_t size = (int64_t)n * n;
    // Values read beyond the end of a row are overwritten by the next row.
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; j += LANES) gather(source + i * n + j, size, room.A + packed(i) + j);
    if (!power_of<T>(room.A, n, power, nullptr, room.power)) return false;
    scatter_group(room.power.F, room.positions, target, size);
    return true;
}

template <class T>
int32_t powers(const T *A, int64_t n_batch, int n, double power, void *memory, T *out, uint8_t *failed) {
    Room space = {(char *)memory};
    BatchRoom<T> room(n, space);
    const int64_t size = (int64_t)n * n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) room.positions[i * n + j] = packed(i > j ? i : j) + (i > j ? j : i);
    return by_groups(A, n_batch, size, room.edge, out, failed, [&](const T *source, T *target) {
        return group(source, target, n, power, room);
    });
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
