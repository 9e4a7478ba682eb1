// Groups of rows, numbers of one column side by side: what is done to one row is then done to all of a group at once.
//
// A column of a group takes group_bytes, whatever the instruction set, in as many registers as that takes.
#pragma once

#include "isa.h"

namespace {

using std::size_t;

constexpr size_t group_bytes = 128;

template <class T>
struct Group {
    static constexpr size_t rows = group_bytes / sizeof(T);
    static constexpr size_t lanes = Simd<T>::lanes;
    static constexpr size_t registers = rows / lanes;
};

// Number i of register j becomes number j of register i.
//
// With the bits of (j, i) read as one number, interleaving registers j and j + lanes / 2 rotates that number by a bit.
template <class T>
inline void transpose(Vector<T> (&v)[Simd<T>::lanes]) {
    constexpr size_t lanes = Simd<T>::lanes;
#pragma GCC unroll 4
    for (size_t round = 1; round < lanes; round *= 2) {
        Vector<T> turned[lanes];
#pragma GCC unroll 8
        for (size_t j = 0; j < lanes / 2; ++j) {
            const Interleaved<T> both = interleave<T>(v[j], v[j + lanes / 2]);
            turned[2 * j] = both.low;
            turned[2 * j + 1] = both.high;
        }
#pragma GCC unroll 16
        for (size_t j = 0; j < lanes; ++j) v[j] = turned[j];
    }
}

// The first `filled` numbers at `from`, and zeros.
template <class T>
inline Vector<T> load_some(const T *from, size_t filled) {
    if (filled >= Simd<T>::lanes) return load(from);
    Vector<T> value = {};
    __builtin_memcpy(&value, from, filled * sizeof(T));
    return value;
}

// `count` columns of `rows` rows, at most as many as a register holds, `stride` apart, go to columns of a group; rows and
// columns that are missing are zeros there.
template <class T>
inline void gather(const T *from, size_t stride, size_t rows, size_t columns, size_t count, T *to) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t column = 0; column < count; column += lanes) {
        const size_t filled = column < columns ? columns - column : 0, kept = count - column;
        Vector<T> v[lanes];
#pragma GCC unroll 16
        for (size_t row = 0; row < lanes; ++row) {
            v[row] = row < rows ? load_some(from + row * stride + column, filled) : Vector<T>{};
        }
        transpose<T>(v);
#pragma GCC unroll 16
        for (size_t i = 0; i < lanes; ++i) {
            if (i < kept) store(to + (column + i) * Group<T>::rows, v[i]);
        }
    }
}

// The other way: up to `lanes` columns, one register each, to `rows` rows.
template <class T>
inline void scatter(const T *from, size_t rows, size_t columns, T *to, size_t stride) {
    constexpr size_t lanes = Simd<T>::lanes;
    Vector<T> v[lanes];
#pragma GCC unroll 16
    for (size_t i = 0; i < lanes; ++i) v[i] = load(from + i * lanes);
    transpose<T>(v);
#pragma GCC unroll 16
    for (size_t row = 0; row < lanes; ++row) {
        if (row >= rows) break;
        if (columns >= lanes) {
            store(to + row * stride, v[row]);
        } else {
            __builtin_memcpy(to + row * stride, &v[row], columns * sizeof(T));
        }
    }
}

}  // namespace
