// Vectors of LANES problems: plain arithmetic on them is the same step for every problem at once.
//
// Each lane computes the same whatever its neighbours hold, so no result depends on batches or threads.
// A vector of float64 fills two registers: two chains of dependent operations hide each other's latency.
#pragma once
#include "kerneton_core.h"

#if defined(__AVX512F__)
#define KN_REGISTER 64
#elif defined(__AVX__)
#define KN_REGISTER 32
#else
#define KN_REGISTER 16
#endif

#define KN_INLINE inline __attribute__((always_inline))

namespace kn {

constexpr int LANES = 2 * KN_REGISTER / (int)sizeof(double);
constexpr double EPS = 2.220446049250313e-16;

template <class T> struct Whole;  // the integer as wide as a floating point number
template <> struct Whole<double> { typedef int64_t type; };
template <> struct Whole<float> { typedef int32_t type; };

#define KN_EACH for (int k = 0; k < N; ++k)

// The answers of a comparison, lane by lane: all bits set or none.
template <class T> struct Mask {
    static constexpr int N = LANES * (int)sizeof(T) / KN_REGISTER;
    typedef typename Whole<T>::type whole __attribute__((vector_size(KN_REGISTER), may_alias));
    whole r[N];

    KN_INLINE friend Mask operator&(Mask a, Mask b) { KN_EACH a.r[k] &= b.r[k]; return a; }
    KN_INLINE friend Mask operator|(Mask a, Mask b) { KN_EACH a.r[k] |= b.r[k]; return a; }
    KN_INLINE Mask operator~() const { Mask m; KN_EACH m.r[k] = ~r[k]; return m; }
};

template <class T> struct Vec {
    static constexpr int N = Mask<T>::N;
    static constexpr int WIDTH = KN_REGISTER / (int)sizeof(T);  // lanes in a register
    typedef T native __attribute__((vector_size(KN_REGISTER), may_alias));
    typedef typename Mask<T>::whole whole;
    native r[N];

    Vec() = default;
    KN_INLINE Vec(double x) { KN_EACH r[k] = (T)x - native{}; }

    KN_INLINE T get(int lane) const { return r[lane / WIDTH][lane % WIDTH]; }
    KN_INLINE void set(int lane, T x) { r[lane / WIDTH][lane % WIDTH] = x; }

    KN_INLINE friend Vec operator+(Vec a, Vec b) { KN_EACH a.r[k] += b.r[k]; return a; }
    KN_INLINE friend Vec operator-(Vec a, Vec b) { KN_EACH a.r[k] -= b.r[k]; return a; }
    KN_INLINE friend Vec operator*(Vec a, Vec b) { KN_EACH a.r[k] *= b.r[k]; return a; }
    KN_INLINE friend Vec operator/(Vec a, Vec b) { KN_EACH a.r[k] /= b.r[k]; return a; }
    KN_INLINE Vec operator-() const { Vec a; KN_EACH a.r[k] = -r[k]; return a; }
    KN_INLINE Vec &operator+=(Vec b) { return *this = *this + b; }
    KN_INLINE Vec &operator*=(Vec b) { return *this = *this * b; }

    KN_INLINE friend Mask<T> operator<(Vec a, Vec b) { Mask<T> m; KN_EACH m.r[k] = (whole)(a.r[k] < b.r[k]); return m; }
    KN_INLINE friend Mask<T> operator<=(Vec a, Vec b) { Mask<T> m; KN_EACH m.r[k] = (whole)(a.r[k] <= b.r[k]); return m; }
    KN_INLINE friend Mask<T> operator>(Vec a, Vec b) { return b < a; }
    KN_INLINE friend Mask<T> operator==(Vec a, Vec b) { Mask<T> m; KN_EACH m.r[k] = (whole)(a.r[k] == b.r[k]); return m; }
};

typedef Vec<double> Doubles;

// x where the mask is set, else y.
template <class T> KN_INLINE Vec<T> where(Mask<T> m, Vec<T> x, Vec<T> y) {
    for (int k = 0; k < Vec<T>::N; ++k) x.r[k] = m.r[k] ? x.r[k] : y.r[k];
    return x;
}

template <class T> KN_INLINE bool any_lane(Mask<T> m) {
    typename Mask<T>::whole all = m.r[0];
    for (int k = 1; k < Mask<T>::N; ++k) all |= m.r[k];
#if defined(__clang__)
    return __builtin_reduce_or(all) != 0;
#else
    typedef long long halves __attribute__((vector_size(16), may_alias));
    const halves *part = (const halves *)&all;
    halves some = part[0];
    for (int k = 1; k < KN_REGISTER / 16; ++k) some |= part[k];
    return (some[0] | some[1]) != 0;
#endif
}

// Sign bits alone are set or cleared, so NaN and zero keep theirs.
template <class T> KN_INLINE Vec<T> absolute(Vec<T> x) {
    typedef typename Vec<T>::whole whole;
    constexpr typename Whole<T>::type sign = (typename Whole<T>::type)1 << (8 * sizeof(T) - 2);
    for (int k = 0; k < Vec<T>::N; ++k) x.r[k] = (typename Vec<T>::native)((whole)x.r[k] & ((sign - 1) | sign));
    return x;
}

// The size of x with the sign of y.
template <class T> KN_INLINE Vec<T> copysign(Vec<T> x, Vec<T> y) {
    typedef typename Vec<T>::whole whole;
    constexpr typename Whole<T>::type sign = (typename Whole<T>::type)1 << (8 * sizeof(T) - 2), low = (sign - 1) | sign;
    for (int k = 0; k < Vec<T>::N; ++k)
        x.r[k] = (typename Vec<T>::native)(((whole)x.r[k] & low) | ((whole)y.r[k] & ~low));
    return x;
}

KN_INLINE double root(double x) { return __builtin_sqrt(x); }
KN_INLINE float root(float x) { return __builtin_sqrtf(x); }
KN_INLINE double nearest(double x) { return __builtin_rint(x); }
KN_INLINE float nearest(float x) { return __builtin_rintf(x); }

template <class T> KN_INLINE Vec<T> sqrt(Vec<T> x) {
    for (int k = 0; k < Vec<T>::N; ++k)
        for (int i = 0; i < Vec<T>::WIDTH; ++i) x.r[k][i] = root(x.r[k][i]);
    return x;
}

template <class T> KN_INLINE Vec<T> rint(Vec<T> x) {
    for (int k = 0; k < Vec<T>::N; ++k)
        for (int i = 0; i < Vec<T>::WIDTH; ++i) x.r[k][i] = nearest(x.r[k][i]);
    return x;
}

// A vector in another precision.
template <class To, class From> KN_INLINE Vec<To> convert(Vec<From> x) {
    if constexpr (sizeof(To) == sizeof(From)) return x;
    else {
        Vec<To> y;
        typedef To piece __attribute__((vector_size(KN_REGISTER / 2), may_alias));
        if constexpr (sizeof(To) < sizeof(From)) {
            union { piece part[2]; typename Vec<To>::native all; } u;
            for (int k = 0; k < 2; ++k) u.part[k] = __builtin_convertvector(x.r[k], piece);
            y.r[0] = u.all;
        } else {
            typedef From half __attribute__((vector_size(KN_REGISTER / 2), may_alias));
            union { half part[2]; typename Vec<From>::native all; } u;
            u.all = x.r[0];
            for (int k = 0; k < 2; ++k) y.r[k] = __builtin_convertvector(u.part[k], typename Vec<To>::native);
        }
        return y;
    }
}

// --- mantissa and exponent --------------------------------------------------------------------------------

// m in [1, 2) of x = m·2^e, x positive and normal.
KN_INLINE Doubles mantissa(Doubles x) {
    for (int k = 0; k < Doubles::N; ++k)
        x.r[k] = (Doubles::native)(((Doubles::whole)x.r[k] & ((1LL << 52) - 1)) | (1023LL << 52));
    return x;
}

// e of x = m·2^e, x positive and normal. The exponent's bits are read as the low bits of 2^52 + e.
KN_INLINE Doubles exponent(Doubles x) {
    for (int k = 0; k < Doubles::N; ++k) {
        typedef uint64_t bits_type __attribute__((vector_size(KN_REGISTER), may_alias));
        bits_type bits = ((bits_type)x.r[k] >> 52 & 0x7ff) | (1075ULL << 52);
        x.r[k] = (Doubles::native)bits - (4503599627370496.0 + 1023.0);
    }
    return x;
}

// 2^x of whole numbers -1022 ≤ x ≤ 1023, in float32 -126 ≤ x ≤ 127: the sum with 1.5·2^52 has x in its low bits.
template <class T> KN_INLINE Vec<T> exp2_whole(Vec<T> x) {
    constexpr int digits = sizeof(T) == 8 ? 52 : 23, bias = sizeof(T) == 8 ? 1023 : 127;
    constexpr T high = (T)(1.5 * (double)(1LL << digits));
    for (int k = 0; k < Vec<T>::N; ++k) {
        typename Vec<T>::whole bits = (typename Vec<T>::whole)(x.r[k] + high) + bias;
        x.r[k] = (typename Vec<T>::native)(bits << digits);
    }
    return x;
}

// --- exponentials and powers ------------------------------------------------------------------------------

constexpr double LOG2E = 1.4426950408889634, LN2 = 0.6931471805599453;

struct Series {
    double exp2[14];   // of 2^x, highest power first
    double atanh[12];  // of log2((1+s)/(1-s)) / s in powers of s², highest first
    double cosine[9], sine[9];  // of cos x and sin x / x in powers of x², highest first
    constexpr Series() : exp2(), atanh(), cosine(), sine() {
        double term = 1;
        for (int k = 0; k < 14; ++k) {
            exp2[13 - k] = term;
            term *= LN2 / (k + 1);
        }
        for (int k = 0; k < 12; ++k) atanh[k] = 2 * LOG2E / (23 - 2 * k);
        double even = 1;
        for (int k = 0; k < 9; ++k) {
            cosine[8 - k] = even;
            sine[8 - k] = even / (2 * k + 1);
            even /= -(2 * k + 1) * (2 * k + 2);
        }
    }
};
constexpr Series SERIES;

// 2^x in the range of the precision, -1022 ≤ x ≤ 1023 or -126 ≤ x ≤ 127; errors of 1e-15 or 1e-7.
template <class T> KN_INLINE Vec<T> exp2(Vec<T> x) {
    constexpr int first = sizeof(T) == 8 ? 0 : 6;
    Vec<T> all = rint(x), rest = x - all, sum = SERIES.exp2[first];
    for (int k = first + 1; k < 14; ++k) sum = sum * rest + SERIES.exp2[k];
    return sum * exp2_whole(all);
}

// log2 of positive normal numbers, with an error of about 1e-15.
KN_INLINE Doubles log2(Doubles x) {
    Doubles m = mantissa(x), e = exponent(x);
    Mask<double> upper = m > Doubles(1.4142135623730951);
    m = where(upper, m * 0.5, m);
    e = where(upper, e + 1.0, e);
    Doubles s = (m - 1.0) / (m + 1.0), square = s * s, sum = SERIES.atanh[0];
    for (int k = 1; k < 12; ++k) sum = sum * square + SERIES.atanh[k];
    return sum * s + e;
}

// x^power of positive normal numbers.
KN_INLINE Doubles positive_power(Doubles x, double power) { return exp2(log2(x) * power); }

// e^x for -700 ≤ x ≤ 700; smaller x count as -700, and NaN stays NaN.
KN_INLINE Doubles exp(Doubles x) {
    return exp2(where(x < Doubles(-700.0), Doubles(-700.0), x) * LOG2E);
}

// Cosine and sine, with errors of about 1e-16 near zero; angles far beyond a million lose digits.
KN_INLINE void cos_sin(Doubles x, Doubles &cosine, Doubles &sine) {
    const Doubles turns = rint(x * 0.6366197723675814), rest = x - turns * 1.5707963267948966 - turns * 6.123233995736766e-17;
    const Doubles square = rest * rest;
    Doubles c = SERIES.cosine[0], s = SERIES.sine[0];
    for (int k = 1; k < 9; ++k) {
        c = c * square + SERIES.cosine[k];
        s = s * square + SERIES.sine[k];
    }
    s = s * rest;
    const Doubles quarter = turns - rint(turns * 0.25 - 0.375) * 4.0;  // 0, 1, 2 or 3
    const Mask<double> swap = (quarter == Doubles(1.0)) | (quarter == Doubles(3.0));
    const Mask<double> left = (quarter == Doubles(1.0)) | (quarter == Doubles(2.0));
    const Doubles a = where(swap, s, c), b = where(swap, c, s);
    cosine = where(left, -a, a);
    sine = where(quarter > Doubles(1.5), -b, b);
}

// --- memory -----------------------------------------------------------------------------------------------

// Rooms are given by the caller: a core that never allocates can neither leak nor fail halfway.
struct Room {
    char *at;
    template <class T> KN_INLINE T *take(int64_t count) {
        T *here = (T *)at;
        at = (char *)((uintptr_t)at + (count * (int64_t)sizeof(T) + 63) / 64 * 64);  // null when measuring
        return here;
    }
};

// Rows of memory to lanes of vectors and back: squares of registers, transposed in log2(width) rounds, each of which
// interleaves a register with the one half the square further on.
template <class N, int W> KN_INLINE void transpose(N *rows) {
#define KN_ROUND(low, high)                                                    \
    {                                                                          \
        N next[W];                                                             \
        for (int k = 0; k < W / 2; ++k) {                                      \
            next[2 * k] = __builtin_shufflevector(rows[k], rows[k + W / 2], KN_LIST low); \
            next[2 * k + 1] = __builtin_shufflevector(rows[k], rows[k + W / 2], KN_LIST high); \
        }                                                                      \
        for (int k = 0; k < W; ++k) rows[k] = next[k];                         \
    }
#define KN_LIST(...) __VA_ARGS__
    if constexpr (W == 2) KN_ROUND((0, 2), (1, 3))
    if constexpr (W == 4)
        for (int round = 0; round < 2; ++round) KN_ROUND((0, 4, 1, 5), (2, 6, 3, 7))
    if constexpr (W == 8)
        for (int round = 0; round < 3; ++round)
            KN_ROUND((0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
    if constexpr (W == 16)
        for (int round = 0; round < 4; ++round)
            KN_ROUND((0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                     (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
#undef KN_ROUND
}

template <class T> struct Loose {  // a register's worth of memory anywhere
    typedef T type __attribute__((vector_size(KN_REGISTER), aligned(sizeof(T)), may_alias));
};

// out[k] ← lane q from source[q·stride + k], k < LANES.
template <class T, class To> KN_INLINE void gather(const T *source, int64_t stride, Vec<To> *out) {
    constexpr int W = Vec<T>::WIDTH;
    for (int column = 0; column < LANES; column += W) {
        Vec<T> part[W];
        for (int row = 0; row < LANES; row += W) {
            typename Vec<T>::native rows[W];
            for (int q = 0; q < W; ++q)
                rows[q] = *(const typename Loose<T>::type *)(source + (row + q) * stride + column);
            transpose<typename Vec<T>::native, W>(rows);
            for (int k = 0; k < W; ++k) part[k].r[row / W] = rows[k];
        }
        for (int k = 0; k < W; ++k) out[column + k] = convert<To>(part[k]);
    }
}

// target[offset(q) + k] ← lane q of vector table[k], k < LANES.
template <class T, class Offset>
KN_INLINE void scatter(const Vec<T> *source, const int64_t *table, T *target, Offset offset) {
    constexpr int W = Vec<T>::WIDTH;
    for (int column = 0; column < LANES; column += W)
        for (int row = 0; row < LANES; row += W) {
            typename Vec<T>::native rows[W];
            for (int k = 0; k < W; ++k) rows[k] = source[table[column + k]].r[row / W];
            transpose<typename Vec<T>::native, W>(rows);
            for (int q = 0; q < W; ++q)
                *(typename Loose<T>::type *)(target + offset(row + q) + column) = rows[q];
        }
}

// A subnormal result takes about a hundred cycles on Intel's processors; flushed to zero while one of these lives.
struct FlushSubnormals {
#if defined(__x86_64__)
    unsigned before;
    KN_INLINE FlushSubnormals() : before(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(before | 1u << 15); }
    KN_INLINE ~FlushSubnormals() { __builtin_ia32_ldmxcsr(before); }
#else
    KN_INLINE FlushSubnormals() {}
#endif
};

}  // namespace kn
