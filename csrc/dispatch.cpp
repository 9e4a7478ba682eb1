// Which instruction sets are in this library, and which of them the machine runs.
//
// The library only answers; the choice is made in src/mercer/_core/_library.py, so there is no global state to lock
// here, and a test can compare all tables in one process.
#include "cpu.h"
#include "mercer.h"

#include <cstring>

namespace {

// The letters of mercer_entry.  A type without one does not compile: Python could not pass it.
template <class T>
constexpr char letter = T::has_no_letter;
template <class T>
constexpr char letter<T *> = 'P';
template <>
constexpr char letter<size_t> = 'N';
template <>
constexpr char letter<int64_t> = 'q';
template <>
constexpr char letter<int> = 'i';
template <>
constexpr char letter<float> = 'f';
template <>
constexpr char letter<double> = 'd';
template <>
constexpr char letter<void> = 'v';

template <class Function>
struct Signature;

template <class Result, class... Arguments>
struct Signature<Result(Arguments...)> {
    static constexpr char types[] = {letter<Result>, letter<Arguments>..., '\0'};
};

}  // namespace

#ifdef MERCER_HAVE_AVX512
#define MERCER_ISA avx512
#include "table.h"
#undef MERCER_ISA
#endif
#ifdef MERCER_HAVE_AVX2
#define MERCER_ISA avx2
#include "table.h"
#undef MERCER_ISA
#endif
#define MERCER_ISA baseline
#include "table.h"
#undef MERCER_ISA

namespace {

struct Isa {
    const char *name;
    bool (*runs_here)();
    const mercer_entry *table;
};

constexpr Isa isas[] = {
#ifdef MERCER_HAVE_AVX512
    {"avx512", runs_avx512, mercer::avx512::table},
#endif
#ifdef MERCER_HAVE_AVX2
    {"avx2", runs_avx2, mercer::avx2::table},
#endif
    {"baseline", [] { return true; }, mercer::baseline::table},
};

}  // namespace

const mercer_entry *mercer_functions(const char *name) {
    for (const Isa &isa : isas) {
        if (std::strcmp(isa.name, name) == 0) return isa.runs_here() ? isa.table : nullptr;
    }
    return nullptr;
}
