// Which instruction sets are in this library, and which of them the machine runs.
//
// The library only answers; the choice is made in src/mercer/_core.py, so there is no global state to lock here and a
// test can compare all tables in one process.
#include "mercer.h"

#include <cstring>

// A new kernel adds its declaration and its name here, and a field in mercer.h.
#define MERCER_DECLARE(isa)                                              \
    namespace mercer::isa {                                              \
    void hadamard_f32(float *data, std::size_t rows, std::size_t width);  \
    void hadamard_f64(double *data, std::size_t rows, std::size_t width); \
    }
#define MERCER_TABLE(isa) {mercer::isa::hadamard_f32, mercer::isa::hadamard_f64}

#ifdef MERCER_HAVE_AVX512
MERCER_DECLARE(avx512)
#endif
#ifdef MERCER_HAVE_AVX2
MERCER_DECLARE(avx2)
#endif
MERCER_DECLARE(baseline)

namespace {

struct Isa {
    const char *name;
    bool (*runs_here)();
    mercer_kernels kernels;
};

// __builtin_cpu_supports also asks whether the operating system saves the wide registers.  What is asked for must cover
// the flags in CMakeLists.txt.
constexpr Isa isas[] = {
#ifdef MERCER_HAVE_AVX512
    {"avx512",
     [] {
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
     },
     MERCER_TABLE(avx512)},
#endif
#ifdef MERCER_HAVE_AVX2
    {"avx2", [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }, MERCER_TABLE(avx2)},
#endif
    {"baseline", [] { return true; }, MERCER_TABLE(baseline)},
};

}  // namespace

const mercer_kernels *mercer_isa_kernels(const char *name) {
    for (const Isa &isa : isas) {
        if (std::strcmp(isa.name, name) == 0) return isa.runs_here() ? &isa.kernels : nullptr;
    }
    return nullptr;
}

int mercer_isa_supported(const char *name) { return mercer_isa_kernels(name) != nullptr; }
