// Just enough of CUDA to run a kernel on the CPU: a fibre a thread, one block after the other.
//
// Threads run one at a time and yield at barriers and exchanges between lanes, so that a kernel's arithmetic, indices and
// barriers are tested where there is no GPU. It is slow, and says nothing about races between barriers.

#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)

using std::max;
using std::min;

struct Index {
    int x;
};

static Index threadIdx, blockIdx, blockDim;
alignas(64) double room[1 << 17];  // dynamic shared memory

namespace fibres {

struct Fibre {
    ucontext_t start;  // to enter it; later switches go by jumps, which ask nothing of the system
    jmp_buf here;
    bool entered;
};

static std::vector<Fibre> contexts;
static std::vector<char> stacks, alive;
static jmp_buf scheduler;
static int current;
static std::function<void()> body;
static std::vector<int> arrived, generation;  // of the warps, and last of the block
static std::vector<uint64_t> slots;
constexpr size_t STACK = 1 << 16;

static void yield() {
    int me = current;
    if (!_setjmp(contexts[me].here)) _longjmp(scheduler, 1);
    threadIdx.x = current = me;
}

static void barrier(int which, int members) {
    int mine = generation[which];
    if (++arrived[which] == members) {
        arrived[which] = 0;
        ++generation[which];
    }
    while (generation[which] == mine) yield();
}

static void enter() {
    threadIdx.x = current;
    body();
    alive[current] = 0;
    _longjmp(scheduler, 1);
}

static void resume(Fibre& fibre) {
    if (_setjmp(scheduler)) return;
    if (fibre.entered) _longjmp(fibre.here, 1);
    fibre.entered = true;
    setcontext(&fibre.start);
}

static void launch(int blocks, int threads, std::function<void()> kernel) {
    body = kernel;
    blockDim.x = threads;
    contexts.resize(threads);
    stacks.resize(threads * STACK);
    slots.assign(threads, 0);
    for (int b = 0; b < blocks; ++b) {
        blockIdx.x = b;
        std::fill(room, room + (1 << 17), std::nan(""));
        arrived.assign(threads / 32 + 1, 0);
        generation.assign(threads / 32 + 1, 0);
        alive.assign(threads, 1);
        for (int t = 0; t < threads; ++t) {
            ucontext_t& start = contexts[t].start;
            getcontext(&start);
            start.uc_stack.ss_sp = &stacks[t * STACK];
            start.uc_stack.ss_size = STACK;
            start.uc_link = nullptr;
            makecontext(&start, enter, 0);
            contexts[t].entered = false;
        }
        for (bool any = true; any;) {
            any = false;
            for (int t = 0; t < threads; ++t)
                if (alive[t]) {
                    any = true;
                    threadIdx.x = current = t;
                    resume(contexts[t]);
                }
        }
    }
}

}  // namespace fibres

static void __syncwarp() { fibres::barrier(threadIdx.x / 32, 32); }
static void __syncthreads() { fibres::barrier(blockDim.x / 32, blockDim.x); }

template <class T> T __shfl_sync(unsigned, T value, int lane) {
    int warp = threadIdx.x / 32;
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    fibres::slots[threadIdx.x] = bits;
    __syncwarp();
    bits = fibres::slots[warp * 32 + lane % 32];
    __syncwarp();
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits) {
    return __shfl_sync(mask, value, (threadIdx.x % 32) ^ bits);
}

static bool __any_sync(unsigned, bool value) {
    fibres::slots[threadIdx.x] = value;
    __syncwarp();
    auto first = fibres::slots.begin() + threadIdx.x / 32 * 32;
    bool any = std::any_of(first, first + 32, [](uint64_t slot) { return slot != 0; });
    __syncwarp();
    return any;
}

static double __hiloint2double(int high, int low) {
    uint64_t bits = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
}

static unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

static float __fdividef(float a, float b) { return a / b; }
static void sincospif(float x, float* sine, float* cosine) {
    *sine = std::sin(M_PI * x);
    *cosine = std::cos(M_PI * x);
}
static float rsqrtf(float x) { return 1 / std::sqrt(x); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
