// One kernel, named by KERNEL, as a function that ctypes can call; SOURCES is a header that includes its sources.

#include "on_cpu.h"

#include <utility>

#include SOURCES

template <class... A, size_t... I>
static void start(void (*kernel)(A...), int blocks, int threads, void** arguments, std::index_sequence<I...>) {
    fibres::launch(blocks, threads, [&] { kernel(*(A*)arguments[I]...); });
}

template <class... A> static void start(void (*kernel)(A...), int blocks, int threads, void** arguments) {
    start(kernel, blocks, threads, arguments, std::index_sequence_for<A...>());
}

extern "C" void run(int blocks, int threads, void** arguments) { start(&KERNEL, blocks, threads, arguments); }
