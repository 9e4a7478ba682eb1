// The common basis of all files of kernels: the instruction set that CMake compiles them for, registers, and two terms.
//
//   MERCER_ISA           avx512, avx2 or baseline: the namespace of this copy's entry points
//   MERCER_VECTOR_BYTES  the width of its registers
//
// A file keeps everything but its entry points in an unnamed namespace.  With external linkage the linker would merge
// equal templates of the three copies, and the baseline table might then call AVX-512 code on a machine without it.
//
// A *lane* is the place of one number in a register.  A *group* is a set of rows that a kernel handles together in
// registers.  It is stored as [column][row], so that the numbers of one column lie side by side and what is done to one
// row is done to all at once, without shuffles: transpose.h has groups of one register per column, row_groups.h groups
// of 128 bytes per column on every instruction set, interleaved_rows.h groups of 16 bytes per column.
#pragma once

#include "declarations.h"

#include <cstddef>
#include <utility>

// For what must stay in registers: a plain `inline` in a large function becomes a call, with its arrays on the stack.
#define MERCER_INLINE inline __attribute__((always_inline))

namespace {

// GCC and Clang vectors: one source for every register width, without intrinsics.
template <class T>
struct Simd {
    typedef T vector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    static constexpr std::size_t lanes = MERCER_VECTOR_BYTES / sizeof(T);
};

template <class T>
using Vector = typename Simd<T>::vector;

// NumPy guarantees the alignment of a number, not of a register; memcpy becomes one unaligned move.
template <class T>
MERCER_INLINE Vector<T> load(const T *from) {
    Vector<T> value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
MERCER_INLINE void store(T *to, const Vector<T> &value) {
    __builtin_memcpy(to, &value, sizeof value);
}

// One number in every lane.  Zero is subtracted rather than added: -0 + 0 is +0, so an addition could not be left out.
template <class T>
inline Vector<T> broadcast(T x) {
    return x - Vector<T>{};
}

template <class T>
struct Interleaved {
    Vector<T> low, high;
};

// a_0, b_0, a_1, b_1, ... of two registers.
template <class T, std::size_t... lane>
MERCER_INLINE Interleaved<T> interleave(Vector<T> a, Vector<T> b, std::index_sequence<lane...>) {
    constexpr std::size_t lanes = sizeof...(lane);
    return {__builtin_shufflevector(a, b, ((lane & 1) * lanes + lane / 2)...),
            __builtin_shufflevector(a, b, ((lane & 1) * lanes + (lanes + lane) / 2)...)};
}

template <class T>
inline Interleaved<T> interleave(Vector<T> a, Vector<T> b) {
    return interleave<T>(a, b, std::make_index_sequence<Simd<T>::lanes>{});
}

template <class T>
MERCER_INLINE void store_interleaved(T *out, Vector<T> a, Vector<T> b) {
    const Interleaved<T> both = interleave<T>(a, b);
    store(out, both.low);
    store(out + Simd<T>::lanes, both.high);
}

// c_0 + c_1 z + c_2 z^2 + ..., by Horner's rule.
template <class T, std::size_t n, std::size_t i = 0>
MERCER_INLINE Vector<T> polynomial(Vector<T> z, const T (&coefficients)[n]) {
    if constexpr (i + 1 == n) {
        return Vector<T>{} + coefficients[i];
    } else {
        return polynomial<T, n, i + 1>(z, coefficients) * z + coefficients[i];
    }
}

// The square root of every lane, correctly rounded: one instruction, because errno is not needed (CMakeLists.txt).
template <class T>
MERCER_INLINE Vector<T> root(Vector<T> x) {
    T lanes[Simd<T>::lanes];
    store(lanes, x);
    for (T &lane : lanes) lane = sizeof(T) == 4 ? __builtin_sqrtf(lane) : __builtin_sqrt(lane);
    return load(lanes);
}

// Whether all numbers seen are finite: x - x is 0 for a finite number and NaN for any other.
template <class T>
struct Finite {
    Vector<T> trace = {};

    void see(Vector<T> x) { trace += x - x; }

    bool holds() const {
        bool all = true;
        for (std::size_t i = 0; i < Simd<T>::lanes; ++i) all &= trace[i] == T(0);
        return all;
    }
};

template <class T>
inline bool all_finite(const T *x, std::size_t n) {
    Finite<T> finite;
    std::size_t i = 0;
    for (; i + Simd<T>::lanes <= n; i += Simd<T>::lanes) finite.see(load(x + i));
    bool rest = true;
    for (; i < n; ++i) rest &= x[i] - x[i] == T(0);
    return rest && finite.holds();
}

}  // namespace
