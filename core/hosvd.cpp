// Power normalisation of batches of third-order tensors.
#include "hosvd.h"

using namespace kn;

namespace {

constexpr double GRAM_POWER = 0.75;  // from here on, the loss of squaring does not show in float32

template <class T> struct BatchRoom {
    int64_t *order;  // of the entries
    Vec<T> *result;
    T *edge;  // the last group, with room for what is read beyond its end
    HosvdRoom hosvd;
    BatchRoom(int a, int b, int c, Room &room)
        : order(room.take<int64_t>((int64_t)a * b * c)), result(room.take<Vec<T>>((int64_t)a * b * c)),
          edge(room.take<T>((int64_t)(LANES + 1) * a * b * c + LANES)), hosvd(a, b, c, room) {}
};

template <class T>
bool group(const T *source, T *target, double power, double entry_power, int max_sweeps, BatchRoom<T> &room) {
    const int64_t size = room.hosvd.size;
    for (int64_t k = 0; k < size; k += LANES) gather(source + k, size, room.hosvd.X + k);
    const bool by_gram = sizeof(T) == 4 && power >= GRAM_POWER;
    const Doubles *found = hosvd_power_of(room.hosvd, power, entry_power, by_gram, max_sweeps);
    if (!found) return false;
    for (int64_t k = 0; k < size; ++k) room.result[k] = convert<T>(found[k]);
    const auto offset = [size](int q) { return q * size; };
    for (int64_t k = 0; k + LANES <= size; k += LANES) scatter(room.result, room.order + k, target + k, offset);
    scatter(room.result, room.order + size - LANES, target + size - LANES, offset);
    return true;
}

template <class T>
int32_t powers(const T *X, int64_t n_batch, int a, int b, int c, double power, double entry_power, int max_sweeps,
               void *memory, T *out, uint8_t *failed) {
    Room space = {(char *)memory};
    BatchRoom<T> room(a, b, c, space);
    const int64_t size = room.hosvd.size;
    for (int64_t k = 0; k < size; ++k) room.order[k] = k;
    int32_t status = KN_OK;
    for (int64_t first = 0; first < n_batch; first += LANES) {
        const int64_t count = n_batch - first < LANES ? n_batch - first : LANES;
        const T *source = X + first * size;
        T *target = out + first * size;
        bool found;
        if (first + LANES < n_batch)  // the last group is always copied, since reading goes past its end
            found = group(source, target, power, entry_power, max_sweeps, room);
        else {
            for (int64_t k = 0; k < (LANES + 1) * size + LANES; ++k) room.edge[k] = k < count * size ? source[k] : 0;
            found = group(room.edge, room.edge, power, entry_power, max_sweeps, room);
            for (int64_t k = 0; found && k < count * size; ++k) target[k] = room.edge[k];
        }
        for (int64_t q = 0; q < count; ++q) failed[first + q] = !found;
        if (!found) status = KN_NOT_CONVERGED;
    }
    return status;
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
