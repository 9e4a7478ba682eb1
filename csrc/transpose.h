// Groups of as many rows as a register has lanes: one register per column.
//
// A kernel that treats all rows alike then needs no shuffles, and the bits of a row do not depend on its neighbours.
#pragma once

#include "isa.h"
#include "rows.h"

namespace {

using std::size_t;

// Number i of register j becomes number j of register i.
//
// If the bits of (j, i) are read as one number, interleaving registers j and j + lanes / 2 rotates it by one bit.
template <class T, size_t round = 1>
inline void transpose(Vector<T> (&v)[Simd<T>::lanes]) {
    constexpr size_t lanes = Simd<T>::lanes;
    if constexpr (round < lanes) {
        Vector<T> turned[lanes];
#pragma GCC unroll 8
        for (size_t j = 0; j < lanes / 2; ++j) {
            const Interleaved<T> both = interleave<T>(v[j], v[j + lanes / 2]);
            turned[2 * j] = both.low;
            turned[2 * j + 1] = both.high;
        }
        transpose<T, 2 * round>(turned);
#pragma GCC unroll 16
        for (size_t j = 0; j < lanes; ++j) v[j] = turned[j];
    }
}

// group[j][r] = X[r][j] for `rows` rows of `columns` numbers, at most as many as lanes; missing rows are zeros.
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

// out[r][j] = scale * group[j][r].  Returns the first row with a number that is not finite, or `rows`.
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
