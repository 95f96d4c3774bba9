// The level of this processor. Compiled for the oldest x86-64, so that it runs where the rest may not.
#include "kerneton_core.h"

#if defined(__x86_64__)

namespace {

struct Registers {
    uint32_t a, b, c, d;
};

Registers cpuid(uint32_t leaf, uint32_t sub) {
    Registers r;
    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
    return r;
}

uint32_t enabled_state() {  // which registers the operating system saves
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool has(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

}  // namespace

KN_API int32_t kn_processor_level(void) {
    const uint32_t leaves = cpuid(0, 0).a, extended = cpuid(0x80000000u, 0).a;
    const Registers one = cpuid(1, 0);
    const Registers seven = leaves >= 7 ? cpuid(7, 0) : Registers{};
    const Registers amd = extended >= 0x80000001u ? cpuid(0x80000001u, 0) : Registers{};
    // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
    if (!has(one.c, 1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23)) return 1;
    // FMA, MOVBE, OSXSAVE, AVX, F16C; AVX2, BMI1, BMI2; LZCNT
    if (!has(one.c, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29)) return 2;
    if (!has(seven.b, 1u << 3 | 1u << 5 | 1u << 8) || !has(amd.c, 1u << 5) || !has(enabled_state(), 0x6)) return 2;
    // AVX-512 F, DQ, CD, BW, VL
    if (!has(seven.b, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) || !has(enabled_state(), 0xe6)) return 3;
    return 4;
}

#else

KN_API int32_t kn_processor_level(void) { return 1; }

#endif
