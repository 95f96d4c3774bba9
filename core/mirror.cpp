// Features averaged with those of the mirror image.
#include "lanes.h"

using namespace kn;

namespace {

template <class T>
void average(const T *features, int64_t n_rows, int64_t n_all, const int64_t *columns, const int64_t *source,
             const T *own, const T *other, int64_t n_kept, T *out) {
    for (int64_t i = 0; i < n_rows; ++i, features += n_all, out += n_kept)
        for (int64_t k = 0; k < n_kept; ++k) out[k] = features[columns[k]] * own[k] + features[source[k]] * other[k];
}

}  // namespace

KN_API int32_t kn_mirror_average(int32_t precision, const void *features, int64_t n_rows, int64_t n_all,
                                 const int64_t *columns, const int64_t *source, const void *own, const void *other,
                                 int64_t n_kept, void *out) {
    if (precision == KN_FLOAT64)
        average((const double *)features, n_rows, n_all, columns, source, (const double *)own, (const double *)other,
                n_kept, (double *)out);
    else
        average((const float *)features, n_rows, n_all, columns, source, (const float *)own, (const float *)other,
                n_kept, (float *)out);
    return KN_OK;
}
