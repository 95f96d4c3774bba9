// Vectors along one row of memory: several entries of the same problem at once.
#pragma once
#include "lanes.h"

namespace kn {

template <class T> KN_INLINE Vec<T> load(const T *row) {
    Vec<T> x;
    for (int k = 0; k < Vec<T>::N; ++k) x.r[k] = *(const typename Loose<T>::type *)(row + k * Vec<T>::WIDTH);
    return x;
}

template <class T> KN_INLINE void store(T *row, Vec<T> x) {
    for (int k = 0; k < Vec<T>::N; ++k) *(typename Loose<T>::type *)(row + k * Vec<T>::WIDTH) = x.r[k];
}

// The first entries of a vector, at the end of a row; the others are zero.
template <class T> KN_INLINE Vec<T> load(const T *row, int64_t count) {
    if (count >= LANES) return load(row);
    Vec<T> x = 0.0;
    for (int k = 0; k < (int)count; ++k) x.set(k, row[k]);
    return x;
}

template <class T> KN_INLINE void store(T *row, Vec<T> x, int64_t count) {
    if (count >= LANES) return store(row, x);
    for (int k = 0; k < (int)count; ++k) row[k] = x.get(k);
}

KN_INLINE Doubles maximum(Doubles x, Doubles y) { return where(x < y, y, x); }

// The sum of a vector's entries: halves are added until one is left.
KN_INLINE double sum(Doubles x) {
    typedef double pair __attribute__((vector_size(16), may_alias));
    const Doubles::native both = x.r[0] + x.r[1];
    const pair *part = (const pair *)&both;
    pair total;
    if constexpr (KN_REGISTER == 64) total = (part[0] + part[2]) + (part[1] + part[3]);
    else if constexpr (KN_REGISTER == 32) total = part[0] + part[1];
    else total = part[0];
    return total[0] + total[1];
}

constexpr int64_t whole_vectors(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

}  // namespace kn
