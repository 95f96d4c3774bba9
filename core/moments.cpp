// What frames add to a weighted sum of features: derivatives of powers, and how joints move.
#include "moments.h"

using namespace kn;

KN_API int64_t kn_power_gradient_room(int32_t n) {
    Room measure = {nullptr};
    GradientRoom room(n, measure);
    measure.take<Doubles>(3 * packed(room.n));
    return (int64_t)measure.at;
}

KN_API int32_t kn_power_gradient(const double *A, const double *W, int64_t n_batch, int32_t n, double power, void *memory,
                                 double *out, uint8_t *failed) {
    Room space = {(char *)memory};
    GradientRoom room(n, space);
    Doubles *sums = space.take<Doubles>(3 * packed(room.n)), *weights = sums + packed(room.n), *G = weights + packed(room.n);
    const int64_t size = (int64_t)n * n;
    int32_t status = KN_OK;
    for (int64_t first = 0; first < n_batch; first += LANES) {
        const int64_t count = n_batch - first < LANES ? n_batch - first : LANES;
        for (int64_t k = 0; k < 2 * packed(room.n); ++k) sums[k] = 0.0;
        for (int64_t q = 0; q < count; ++q)
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j <= i; ++j) {
                    const int64_t at = (first + q) * size, one = at + i * n + j, other = at + j * n + i;
                    sums[packed(i) + j].set((int)q, A[one]);
                    weights[packed(i) + j].set((int)q, 0.5 * (W[one] + W[other]));
                }
        const bool found = power_gradient(sums, weights, power, room, G);
        if (!found) status = KN_NOT_CONVERGED;
        for (int64_t q = 0; q < count; ++q) {
            failed[first + q] = !found;
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; j <= i; ++j) {
                    const int64_t at = (first + q) * size;
                    out[at + i * n + j] = out[at + j * n + i] = found ? G[packed(i) + j].get((int)q) : 0.0;
                }
        }
    }
    return status;
}
