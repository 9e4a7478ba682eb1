// Which instruction sets are in this library, and which of them the machine runs.
//
// The library only answers; the choice is made in src/mercer/_core/_library.py, so there is no global state to lock
// here and a test can compare all tables in one process.
#include "mercer.h"

#include <cstring>
#include <type_traits>

// A new kernel adds its name here and a field, in the same order, in mercer.h, from where its type is taken.
#define MERCER_KERNELS(X)                                                                          \
    X(hadamard) X(waves) X(structured) X(fastfood) X(hadamard_sketch) X(srht) X(tensor_sketch)     \
    X(sign_products) X(pack_signs) X(sparse_sign_products) X(additive) X(craft) X(spread)          \
    X(pack) X(product) X(matrix_waves) X(scaled) X(narrow) X(narrow_transposed)
#define MERCER_DOUBLE_KERNELS(X) X(radial) X(pairs)

#define MERCER_DOUBLE_FUNCTION(name) std::remove_pointer_t<decltype(mercer_kernels::name##_f64)> name##_f64;
#define MERCER_FUNCTION(name)                                               \
    std::remove_pointer_t<decltype(mercer_kernels::name##_f32)> name##_f32; \
    MERCER_DOUBLE_FUNCTION(name)
#define MERCER_DECLARE(isa)                                                                                    \
    namespace mercer::isa {                                                                                    \
    MERCER_KERNELS(MERCER_FUNCTION)                                                                            \
    MERCER_DOUBLE_KERNELS(MERCER_DOUBLE_FUNCTION)                                                              \
    constexpr mercer_kernels table = {MERCER_KERNELS(MERCER_ENTRY) MERCER_DOUBLE_KERNELS(MERCER_DOUBLE_ENTRY)}; \
    }
#define MERCER_DOUBLE_ENTRY(name) name##_f64,
#define MERCER_ENTRY(name) name##_f32, MERCER_DOUBLE_ENTRY(name)
#define MERCER_TABLE(isa) mercer::isa::table

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
