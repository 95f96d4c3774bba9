// The three functions that compilers call by themselves; a freestanding library brings its own.
#include <stddef.h>
#include <stdint.h>

#if !defined(KN_NO_MEMORY)
#define KN_HIDDEN extern "C" __attribute__((visibility("hidden"), used))

KN_HIDDEN void *memmove(void *to, const void *from, size_t count) {
    char *target = (char *)to;
    const char *source = (const char *)from;
    if ((uintptr_t)target - (uintptr_t)source >= count)
        for (size_t k = 0; k < count; ++k) target[k] = source[k];
    else
        for (size_t k = count; k > 0; --k) target[k - 1] = source[k - 1];
    return to;
}

KN_HIDDEN void *memcpy(void *__restrict to, const void *__restrict from, size_t count) {
    for (size_t k = 0; k < count; ++k) ((char *)to)[k] = ((const char *)from)[k];
    return to;
}

KN_HIDDEN void *memset(void *to, int value, size_t count) {
    for (size_t k = 0; k < count; ++k) ((char *)to)[k] = (char)value;
    return to;
}

#if defined(_WIN32)
// A library without the C runtime has nothing to start.
extern "C" __attribute__((used)) int __stdcall DllMainCRTStartup(void *, unsigned, void *) { return 1; }
extern "C" __attribute__((used)) int _fltused = 0;
#endif

#if defined(_WIN32) && defined(__x86_64__)
// Windows grows the stack page by page, so a function with more than a page of variables must first touch each page. The
// compiler calls this with the size in rax and expects every register as it was.
__asm__(
    ".globl ___chkstk_ms\n"
    "___chkstk_ms:\n"
    "  pushq %rcx\n"
    "  pushq %rax\n"
    "  leaq 24(%rsp), %rcx\n"
    "1:\n"
    "  cmpq $4096, %rax\n"
    "  jbe 2f\n"
    "  subq $4096, %rcx\n"
    "  orq $0, (%rcx)\n"
    "  subq $4096, %rax\n"
    "  jmp 1b\n"
    "2:\n"
    "  subq %rax, %rcx\n"
    "  orq $0, (%rcx)\n"
    "  popq %rax\n"
    "  popq %rcx\n"
    "  ret\n");
#endif

#endif
