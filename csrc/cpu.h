// Which of the x86 instruction sets of CMakeLists.txt this machine can run: the processor must have them, and the
// operating system must save their registers.  The checks must cover all flags that the kernels are compiled with.
#pragma once

#if defined(__x86_64__) || defined(__i386__)

#if defined(_WIN32)
// On Windows, __builtin_cpu_supports needs a library of Clang that Microsoft's linker does not link.
#include <cpuid.h>

namespace {

struct Cpuid {
    unsigned a = 0, b = 0, c = 0, d = 0;

    Cpuid(unsigned leaf, unsigned subleaf) { __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d); }
};

// Whether the operating system saves these parts of the registers.
inline bool saves(unsigned parts) {
    constexpr unsigned osxsave = 1u << 27;
    if (!(Cpuid(1, 0).c & osxsave)) return false;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & parts) == parts;
}

inline bool runs_avx2() {
    constexpr unsigned fma = 1u << 12, avx2 = 1u << 5, registers_of_32_bytes = 0x6;
    return saves(registers_of_32_bytes) && (Cpuid(1, 0).c & fma) && (Cpuid(7, 0).b & avx2);
}

inline bool runs_avx512() {
    constexpr unsigned f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31, registers_of_64_bytes = 0xe6;
    constexpr unsigned all = f | dq | bw | vl;
    return runs_avx2() && saves(registers_of_64_bytes) && (Cpuid(7, 0).b & all) == all;
}

}  // namespace

#else

namespace {

inline bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

inline bool runs_avx512() {
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

#endif
#endif
