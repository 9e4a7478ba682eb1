// The Walsh-Hadamard transform of rows, in place, not normalised, in natural (Sylvester) order.
//
// A transform of length n is log2(n) stages; stage h replaces every pair (x[i], x[i + h]) by its sum and difference.  All
// instruction sets run the stages in the same order h = 1, 2, 4, ..., each number is then the same tree of additions
// everywhere, and the results of all tables are equal to the bit.
//
// Stages are fused to spare memory traffic: the first pass does those inside a register and across up to 8 adjacent
// registers, every later pass does three (radix 8, which still fits the 16 registers of AVX2 and SSE).
#pragma once

#include "isa.h"

#include <utility>

namespace {

using std::size_t;

constexpr size_t radix = 8;
constexpr size_t l1_bytes = 32 * 1024;  // the smallest L1 data cache of current x86 and ARM cores

template <size_t h, class T, size_t... lane>
inline Vector<T> lane_stage(Vector<T> v, std::index_sequence<lane...>) {
    // One shuffle and one fused multiply-add; the product with +-1 is exact, so fusing does not change a bit.
    constexpr Vector<T> signs = {(lane & h ? T(-1) : T(1))...};
    return __builtin_shufflevector(v, v, (lane ^ h)...) + signs * v;
}

// The stages h = 1 ... width / 2 inside a register, which holds lanes / width rows.
template <class T, size_t width, size_t h = 1>
inline Vector<T> lane_stages(Vector<T> v) {
    if constexpr (h < width) {
        return lane_stages<T, width, 2 * h>(lane_stage<h, T>(v, std::make_index_sequence<Simd<T>::lanes>{}));
    } else {
        return v;
    }
}

// The stages across `count` registers.  The distance is a template argument because the loop must unroll completely:
// an index left to run time would put v on the stack.
template <class T, size_t count, size_t h = 1>
inline void register_stages(Vector<T> (&v)[count]) {
    if constexpr (h < count) {
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) {
            if ((i & h) == 0) {
                const Vector<T> low = v[i], high = v[i + h];
                v[i] = low + high;
                v[i + h] = low - high;
            }
        }
        register_stages<T, count, 2 * h>(v);
    }
}

template <class T, size_t count>
inline void load_registers(Vector<T> (&v)[count], const T *from, size_t stride = Simd<T>::lanes) {
#pragma GCC unroll 16
    for (size_t i = 0; i < count; ++i) v[i] = load(from + i * stride);
}

template <class T, size_t count>
inline void store_registers(T *to, const Vector<T> (&v)[count], size_t stride = Simd<T>::lanes) {
#pragma GCC unroll 16
    for (size_t i = 0; i < count; ++i) store(to + i * stride, v[i]);
}

// The stages inside and across `count` adjacent registers.
template <class T, size_t count>
inline void adjacent_stages(Vector<T> (&v)[count]) {
#pragma GCC unroll 16
    for (size_t i = 0; i < count; ++i) v[i] = lane_stages<T, Simd<T>::lanes>(v[i]);
    register_stages<T, count>(v);
}

// The stages up to `count` registers, over every such group of x.
template <class T, size_t count>
inline void first_pass(T *x, size_t n) {
    for (T *group = x; group != x + n; group += count * Simd<T>::lanes) {
        Vector<T> v[count];
        load_registers<T>(v, group);
        adjacent_stages<T>(v);
        store_registers<T>(group, v);
    }
}

// The three stages h = stride, 2 stride, 4 stride, over every group of 8 stride numbers.
template <class T, size_t radix = ::radix>
inline void radix_pass(T *x, size_t n, size_t stride) {
    for (T *group = x; group != x + n; group += radix * stride) {
        for (T *at = group; at != group + stride; at += Simd<T>::lanes) {
            Vector<T> v[radix];
            load_registers<T>(v, at, stride);
            register_stages<T>(v);
            store_registers<T>(at, v, stride);
        }
    }
}

// One row of n = count * lanes * 8^k numbers.  A row longer than L1 is finished part by part before the last pass joins
// the parts, so that every level of cache is filled once per pass at that level and not once per stage.
template <class T, size_t count>
void row(T *x, size_t n) {
    constexpr size_t first = count * Simd<T>::lanes;
    if (n * sizeof(T) > l1_bytes && n > first) {
        const size_t part = n / radix;
        for (T *child = x; child != x + n; child += part) row<T, count>(child, part);
        radix_pass(x, n, part);
        return;
    }
    first_pass<T, count>(x, n);
    for (size_t stride = first; stride < n; stride *= radix) radix_pass(x, n, stride);
}

template <class T, size_t count>
void long_rows(T *data, size_t rows, size_t n) {
    for (T *x = data; x != data + rows * n; x += n) row<T, count>(x, n);
}

// Rows shorter than a register: several at once, the last ones through a padded copy.
template <class T, size_t n>
void short_rows(T *data, size_t rows) {
    constexpr size_t lanes = Simd<T>::lanes;
    const size_t total = rows * n, whole = total - total % lanes;
    for (size_t i = 0; i != whole; i += lanes) store(data + i, lane_stages<T, n>(load(data + i)));
    if (whole != total) {
        T padded[lanes] = {};
        __builtin_memcpy(padded, data + whole, (total - whole) * sizeof(T));
        store(padded, lane_stages<T, n>(load(padded)));
        __builtin_memcpy(data + whole, padded, (total - whole) * sizeof(T));
    }
}

template <class T, size_t n = Simd<T>::lanes / 2>
void short_rows_of(T *data, size_t rows, size_t width) {
    if constexpr (n > 1) {
        if (width == n) return short_rows<T, n>(data, rows);
        short_rows_of<T, n / 2>(data, rows, width);
    }  // H of one number is that number
}

template <class T>
void hadamard_rows(T *data, size_t rows, size_t width) {
    constexpr size_t lanes = Simd<T>::lanes;
    if (width < lanes) return short_rows_of(data, rows, width);
    // The first pass takes what is left of log2(width) after whole radix-8 passes.
    size_t count = width / lanes;
    while (count > radix) count /= radix;
    switch (count) {
        case 1: return long_rows<T, 1>(data, rows, width);
        case 2: return long_rows<T, 2>(data, rows, width);
        case 4: return long_rows<T, 4>(data, rows, width);
        default: return long_rows<T, 8>(data, rows, width);
    }
}

}  // namespace
