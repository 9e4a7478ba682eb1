// Groups of rows whose columns take 128 bytes on every instruction set, in one or more registers.
#pragma once

#include "transpose.h"

namespace {

using std::size_t;

constexpr size_t group_bytes = 128;

template <class T>
struct Group {
    static constexpr size_t rows = group_bytes / sizeof(T);
    static constexpr size_t lanes = Simd<T>::lanes;
    static constexpr size_t registers = rows / lanes;
};

// Copies up to `lanes` rows, `stride` apart, into `count` columns of a group; missing rows and columns become zeros.
template <class T>
inline void gather(const T *from, size_t stride, size_t rows, size_t columns, size_t count, T *to) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t column = 0; column < count; column += lanes) {
        Vector<T> v[lanes];
        if (rows >= lanes && column + lanes <= columns) {
#pragma GCC unroll 16
            for (size_t row = 0; row < lanes; ++row) v[row] = load(from + row * stride + column);
        } else {
            T part[lanes * lanes] = {};
            const size_t filled = columns - column < lanes ? columns - column : lanes;
            for (size_t row = 0; row < rows && row < lanes; ++row) {
                for (size_t i = 0; i < filled && column < columns; ++i) {
                    part[row * lanes + i] = from[row * stride + column + i];
                }
            }
            for (size_t row = 0; row < lanes; ++row) v[row] = load(part + row * lanes);
        }
        transpose<T>(v);
        const size_t kept = count - column < lanes ? count - column : lanes;
        if (kept == lanes) {
#pragma GCC unroll 16
            for (size_t i = 0; i < lanes; ++i) store(to + (column + i) * Group<T>::rows, v[i]);
        } else {
            for (size_t i = 0; i < kept; ++i) store(to + (column + i) * Group<T>::rows, v[i]);
        }
    }
}

// The inverse: copies up to `lanes` columns of one register each into up to `lanes` rows.
template <class T>
inline void scatter(const T *from, size_t rows, size_t columns, T *to, size_t stride) {
    constexpr size_t lanes = Simd<T>::lanes;
    if (rows < lanes || columns < lanes) {
        for (size_t row = 0; row < rows && row < lanes; ++row) {
            for (size_t i = 0; i < columns && i < lanes; ++i) to[row * stride + i] = from[i * lanes + row];
        }
        return;
    }
    Vector<T> v[lanes];
#pragma GCC unroll 16
    for (size_t i = 0; i < lanes; ++i) v[i] = load(from + i * lanes);
    transpose<T>(v);
#pragma GCC unroll 16
    for (size_t row = 0; row < lanes; ++row) store(to + row * stride, v[row]);
}

}  // namespace
