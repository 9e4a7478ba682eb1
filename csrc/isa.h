// What CMake tells a hot file about the instruction set it is being compiled for.
//
//   MERCER_ISA           avx512, avx2 or baseline: the namespace of this copy's entry points
//   MERCER_VECTOR_BYTES  the width of its registers
//
// A hot file keeps all else in an unnamed namespace.  With external linkage the linker would fold equal templates of the
// three copies into one, and the baseline table might then call AVX-512 code on a machine that has none.
#pragma once

#include <cstddef>

namespace {

// GCC and Clang vectors: one source for every register width, without intrinsics.
template <class T>
struct Simd {
    typedef T vector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    static constexpr std::size_t lanes = MERCER_VECTOR_BYTES / sizeof(T);
};

template <class T>
using Vector = typename Simd<T>::vector;

// NumPy promises the alignment of one number, not of a register; memcpy becomes one unaligned move.
template <class T>
inline Vector<T> load(const T *from) {
    Vector<T> value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
inline void store(T *to, const Vector<T> &value) {
    __builtin_memcpy(to, &value, sizeof value);
}

}  // namespace
