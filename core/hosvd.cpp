// Power normalisation of batches of third-order tensors.
#include "groups.h"
#include "hosvd.h"

using namespace kn;

namespace {

constexpr double GRAM_POWER = 0.75;  // from here on, the loss of squaring does not show in float32

template <class T> struct BatchRoom {
    int64_t *order;  // of the entries
    Vec<T> *result;
    T *edge;  // see groups.h
    HosvdRoom hosvd;
    BatchRoom(int a, int b, int c, Room &room)
        : order(room.take<int64_t>((int64_t)a * b * c)), result(room.take<Vec<T>>((int64_t)a * b * c)),
          edge(take_edge<T>(room, (int64_t)a * b * c)), hosvd(a, b, c, room) {}
};

template <class T>
bool group(const T *source, T *target, double power, double entry_power, int max_sweeps, BatchRoom<T> &room) {
    const int64_t size = room.hosvd.size;
    for (int64_t k = 0; k < size; k += LANES) gather(source + k, size, room.hosvd.X + k);
    const bool by_gram = sizeof(T) == 4 && power >= GRAM_POWER;
    const Doubles *found = hosvd_power_of(room.hosvd, power, entry_power, by_gram, max_sweeps);
    if (!found) return false;
    for (int64_t k = 0; k < size; ++k) room.result[k] = convert<T>(found[k]);
    scatter_group(room.result, room.order, target, size);
    return true;
}

template <class T>
int32_t powers(const T *X, int64_t n_batch, int a, int b, int c, double power, double entry_power, int max_sweeps,
               void *memory, T *out, uint8_t *failed) {
    Room space = {(char *)memory};
    BatchRoom<T> room(a, b, c, space);
    const int64_t size = room.hosvd.size;
    for (int64_t k = 0; k < size; ++k) room.order[k] = k;
    return by_groups(X, n_batch, size, room.edge, out, failed, [&](const T *source, T *target) {
        return group(source, target, power, entry_power, max_sweeps, room);
    });
}

template <class T> int64_t room_of(int a, int b, int c) {
    Room measure = {nullptr};
    BatchRoom<T> room(a, b, c, measure);
    return (int64_t)measure.at;
}

}  // namespace

KN_API int64_t kn_hosvd_power_room(int32_t precision, int32_t a, int32_t b, int32_t c) {
    return precision == KN_FLOAT64 ? room_of<double>(a, b, c) : room_of<float>(a, b, c);
}

KN_API int32_t kn_hosvd_power(int32_t precision, const void *X, int64_t n_batch, int32_t a, int32_t b, int32_t c,
                              double power, double entry_power, int32_t max_sweeps, void *room, void *out,
                              uint8_t *failed) {
    if (a < 1 || b < 1 || c < 1 || (int64_t)a * b * c < 16 || (int64_t)a * b * c > 1 << 20) return KN_BAD_ARGUMENT;
    if (precision == KN_FLOAT64)
        return powers((const double *)X, n_batch, a, b, c, power, entry_power, max_sweeps, room, (double *)out, failed);
    return powers((const float *)X, n_batch, a, b, c, power, entry_power, max_sweeps, room, (float *)out, failed);
}
