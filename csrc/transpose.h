// Rows beside one another: a group of as many rows as a register has lanes, stored as [index][lane].
//
// A kernel that treats every row alike then needs no shuffles at all, and a row's bits do not hang on its neighbours.
#pragma once

#include "isa.h"
#include "rows.h"

namespace {

using std::size_t;

// Numbers a_0, b_0, a_1, b_1, ... of the lower (half = 0) or the upper halves of two registers.
template <class T, size_t half, size_t... lane>
inline Vector<T> interleaved(Vector<T> a, Vector<T> b, std::index_sequence<lane...>) {
    constexpr size_t lanes = sizeof...(lane);
    return __builtin_shufflevector(a, b, ((lane & 1) * lanes + (half * lanes + lane) / 2)...);
}

// A square of registers, transposed by log2(lanes) perfect shuffles, each of which rotates the bits of row and column.
template <class T, size_t step = 1>
inline void transpose(Vector<T> (&v)[Simd<T>::lanes]) {
    constexpr size_t lanes = Simd<T>::lanes;
    if constexpr (step < lanes) {
        Vector<T> next[lanes];
#pragma GCC unroll 16
        for (size_t i = 0; i < lanes / 2; ++i) {
            next[2 * i] = interleaved<T, 0>(v[i], v[i + lanes / 2], std::make_index_sequence<lanes>{});
            next[2 * i + 1] = interleaved<T, 1>(v[i], v[i + lanes / 2], std::make_index_sequence<lanes>{});
        }
        transpose<T, 2 * step>(next);
#pragma GCC unroll 16
        for (size_t i = 0; i < lanes; ++i) v[i] = next[i];
    }
}

// group[j][r] = X[r][j] for `rows` rows, at most as many as lanes, of `columns` numbers; zeros stand for the others.
template <class T>
void gather_rows(const T *X, size_t rows, size_t columns, T *group) {
    constexpr size_t lanes = Simd<T>::lanes;
    size_t j = 0;
    for (; rows == lanes && j + lanes <= columns; j += lanes) {
        Vector<T> v[lanes];
#pragma GCC unroll 16
        for (size_t r = 0; r < lanes; ++r) v[r] = load(X + r * columns + j);
        transpose<T>(v);
#pragma GCC unroll 16
        for (size_t r = 0; r < lanes; ++r) store(group + (j + r) * lanes, v[r]);
    }
    for (; j < columns; ++j) {
        for (size_t r = 0; r < lanes; ++r) group[j * lanes + r] = r < rows ? X[r * columns + j] : T(0);
    }
}

// out[r][j] = scale * group[j][r]; the first row with a number that is not finite, or `rows`.
template <class T>
size_t scatter_rows(const T *group, size_t rows, size_t columns, T scale, T *out) {
    constexpr size_t lanes = Simd<T>::lanes;
    Finite<T> finite;
    size_t j = 0;
    for (; rows == lanes && j + lanes <= columns; j += lanes) {
        Vector<T> v[lanes];
#pragma GCC unroll 16
        for (size_t r = 0; r < lanes; ++r) {
            v[r] = load(group + (j + r) * lanes) * scale;
            finite.see(v[r]);
        }
        transpose<T>(v);
#pragma GCC unroll 16
        for (size_t r = 0; r < lanes; ++r) store(out + r * columns + j, v[r]);
    }
    for (; j < columns; ++j) {
        const Vector<T> v = load(group + j * lanes) * scale;
        finite.see(v);
        for (size_t r = 0; r < rows; ++r) out[r * columns + j] = v[r];
    }
    for (size_t r = 0; r < rows; ++r) {
        if (finite.trace[r] != T(0)) return r;
    }
    return rows;
}

}  // namespace
