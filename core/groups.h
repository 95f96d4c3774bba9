// Batches of problems of one size, side by side in memory, `LANES` of them at a time.
#pragma once
#include "lanes.h"

namespace kn {

// Room for the last group, which is always copied, since reading goes past its end.
template <class T> T *take_edge(Room &room, int64_t size) { return room.take<T>((LANES + 1) * size + LANES); }

// `solve(source, target)` of each group of problems of `size` numbers, which reads past the end of a problem and says
// whether it converged; `failed` tells which did not, whose numbers stay as they were.
template <class T, class Solve>
int32_t by_groups(const T *in, int64_t n_batch, int64_t size, T *edge, T *out, uint8_t *failed, Solve solve) {
    int32_t status = KN_OK;
    for (int64_t first = 0; first < n_batch; first += LANES) {
        const int64_t count = n_batch - first < LANES ? n_batch - first : LANES;
        const T *source = in + first * size;
        T *target = out + first * size;
        bool found;
        if (first + LANES < n_batch) found = solve(source, target);
        else {
            for (int64_t k = 0; k < (LANES + 1) * size + LANES; ++k) edge[k] = k < count * size ? source[k] : 0;
            found = solve((const T *)edge, edge);
            for (int64_t k = 0; found && k < count * size; ++k) target[k] = edge[k];
        }
        for (int64_t q = 0; q < count; ++q) failed[first + q] = !found;
        if (found) continue;
        status = KN_NOT_CONVERGED;
        for (int64_t k = 0; k < count * size; ++k) target[k] = source[k];
    }
    return status;
}

// Results of a group, one problem to a lane, to where the problems lie; `places` are those of each number.
template <class T> void scatter_group(const Vec<T> *found, const int64_t *places, T *target, int64_t size) {
    const auto offset = [size](int q) { return q * size; };
    for (int64_t k = 0; k + LANES <= size; k += LANES) scatter(found, places + k, target + k, offset);
    scatter(found, places + size - LANES, target + size - LANES, offset);
}

}  // namespace kn
