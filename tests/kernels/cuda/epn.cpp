// Kernels as functions that ctypes can call: those of one PART, for ORDER or SIDES. FOLDER names the directory of their sources.

#include "on_cpu.h"

#define STRING(x) #x
#define FILE_IN(folder, name) STRING(folder/name)
#include FILE_IN(FOLDER, jacobi.cu)

#ifdef PART_power
#include FILE_IN(FOLDER, psd_power.cu)

template <class T>
int power(const T* source, T* target, int count, int high, int low, int vectors) {
    int failed = 0, matrices = 4 * Place<ORDER>::GROUPS;
    fibres::launch((count + matrices - 1) / matrices, 128,
                   [&] { psd_power<ORDER, T>(source, target, &failed, count, high, low, vectors); });
    return failed;
}

extern "C" {
int power_float(const float* a, float* b, int n, int h, int l, int v) { return power(a, b, n, h, l, v); }
int power_double(const double* a, double* b, int n, int h, int l, int v) { return power(a, b, n, h, l, v); }
}
#endif

#ifdef PART_sck
#include FILE_IN(FOLDER, sck.cu)
#include FILE_IN(FOLDER, sck_order2.cu)
#undef INLINE
#include FILE_IN(FOLDER, dck.cu)

template <class R>
int sck(const R* x, R* out, const int* lengths, const double* table, int n, int frames, int joints, int width, int high, int low, int entries) {
    int failed = 0;
    fibres::launch(n * joints, 128, [&] {
        sck_features<ORDER, R>(x, lengths, table, out, &failed, frames, joints, width, high, low, entries);
    });
    return failed;
}

template <class R>
int sck_order2(const R* x, R* out, const int* lengths, const int* rows, const double* table, int count, int n_rows, int frames, int joints, int width, int unit, int high, int low) {
    int failed = 0, matrices = 4 * Place<ORDER>::GROUPS;
    fibres::launch((count + matrices - 1) / matrices, 128, [&] {
        sck_matrices<ORDER, R>(x, lengths, rows, table, out, &failed, count, n_rows, frames, joints, width, unit, 3, high, low);
    });
    return failed;
}

extern "C" {
int order2_float(const float* x, float* out, const int* l, const int* r, const double* t, int c, int n, int f, int j, int w, int u, int h, int lo) {
    return sck_order2(x, out, l, r, t, c, n, f, j, w, u, h, lo);
}
int order2_double(const double* x, double* out, const int* l, const int* r, const double* t, int c, int n, int f, int j, int w, int u, int h, int lo) {
    return sck_order2(x, out, l, r, t, c, n, f, j, w, u, h, lo);
}
int sck_float(const float* x, float* out, const int* lengths, const double* table, int n, int t, int j, int w, int h, int l, int e) {
    return sck(x, out, lengths, table, n, t, j, w, h, l, e);
}
int sck_double(const double* x, double* out, const int* lengths, const double* table, int n, int t, int j, int w, int h, int l, int e) {
    return sck(x, out, lengths, table, n, t, j, w, h, l, e);
}
int dck(const float* x, float* out, const int* lengths, const int* pairs, const double* plan, int n, int frames, int joints, int n_pairs, int n_pivots) {
    int failed = 0;
    fibres::launch(3 * n, 192, [&] {
        dck_sums<TIMES>(x, lengths, pairs, plan, out, &failed, frames, joints, n_pairs, n_pivots);
    });
    return failed;
}
}
#endif

#ifdef PART_hosvd
#include FILE_IN(FOLDER, hosvd.cu)

extern "C" int hosvd(const float* a, float* b, int n, int high, int low, int entry_high, int entry_low) {
    int failed = 0, tensors = 2 * tensors_a_warp((longest(SIDES) + 1) / 2);
    fibres::launch((n + tensors - 1) / tensors, 64, [&] {
        hosvd_power<SIDES>(a, b, &failed, n, high, low, entry_high, entry_low);
    });
    return failed;
}
#endif
