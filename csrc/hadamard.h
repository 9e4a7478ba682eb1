// The Walsh-Hadamard transform of rows, in place, not normalised, in natural (Sylvester) order.
//
// A transform of length n is log2(n) stages; stage h replaces every pair (x[i], x[i + h]) by its sum and difference.
// All instruction sets run the stages in the same order h = 1, 2, 4, ...; each number is then the same tree of
// additions everywhere, and the results of all tables are equal to the bit.
//
// Stages are fused to save memory traffic: the first pass does those inside a register and across up to 8 adjacent
// registers, every later pass does three (radix 8, which still fits in the 16 registers of AVX2 and SSE).
#pragma once

#include "isa.h"

#include <utility>

namespace {

using std::size_t;

constexpr size_t radix = 8;
constexpr size_t l1_bytes = 32 * 1024;  // the smallest L1 data cache of current x86 and ARM cores

template <size_t h, class T, size_t... lane>
MERCER_INLINE Vector<T> lane_stage(Vector<T> v, std::index_sequence<lane...>) {
    // One shuffle and one fused multiply-add; the product with +-1 is exact, so fusing does not change a bit.
    constexpr Vector<T> signs = {(lane & h ? T(-1) : T(1))...};
    return __builtin_shufflevector(v, v, (lane ^ h)...) + signs * v;
}

// The stages h ... width / 2 inside a register, which holds lanes / width rows.
template <class T, size_t width, size_t h>
MERCER_INLINE Vector<T> row_stages(Vector<T> v) {
    if constexpr (h < width) {
        return row_stages<T, width, 2 * h>(lane_stage<h, T>(v, std::make_index_sequence<Simd<T>::lanes>{}));
    } else {
        return v;
    }
}

// The stages across `count` registers.  The distance is a template argument because the loop must unroll completely:
// an index known only at run time would put v on the stack.
template <class T, size_t count, size_t h = 1>
MERCER_INLINE void register_stages(Vector<T> (&v)[count]) {
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
MERCER_INLINE void load_registers(Vector<T> (&v)[count], const T *from, size_t stride = Simd<T>::lanes) {
#pragma GCC unroll 16
    for (size_t i = 0; i < count; ++i) v[i] = load(from + i * stride);
}

template <class T, size_t count>
MERCER_INLINE void store_registers(T *to, const Vector<T> (&v)[count], size_t stride = Simd<T>::lanes) {
#pragma GCC unroll 16
    for (size_t i = 0; i < count; ++i) store(to + i * stride, v[i]);
}

// The stages from h on inside each of `count` registers, stage by stage, so that registers do not wait for one another.
template <class T, size_t count, size_t h>
MERCER_INLINE void lane_stages(Vector<T> (&v)[count]) {
    if constexpr (h < Simd<T>::lanes) {
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) v[i] = lane_stage<h, T>(v[i], std::make_index_sequence<Simd<T>::lanes>{});
        lane_stages<T, count, 2 * h>(v);
    }
}

// The stages from h on inside and across `count` adjacent registers.
template <class T, size_t h, size_t count>
MERCER_INLINE void adjacent_stages(Vector<T> (&v)[count]) {
    lane_stages<T, count, h>(v);
    register_stages<T, count>(v);
}

// The stages from h up to `count` registers, over every such run of x.
template <class T, size_t count, size_t h>
inline void first_pass(T *x, size_t n) {
    for (T *run = x; run != x + n; run += count * Simd<T>::lanes) {
        Vector<T> v[count];
        load_registers<T>(v, run);
        adjacent_stages<T, h>(v);
        store_registers<T>(run, v);
    }
}

// The three stages h = stride, 2 stride, 4 stride, over every run of 8 stride numbers.
template <class T, size_t radix = ::radix>
inline void radix_pass(T *x, size_t n, size_t stride) {
    for (T *run = x; run != x + n; run += radix * stride) {
        for (T *at = run; at != run + stride; at += Simd<T>::lanes) {
            Vector<T> v[radix];
            load_registers<T>(v, at, stride);
            register_stages<T>(v);
            store_registers<T>(at, v, stride);
        }
    }
}

// The passes after the first one, for a row of n = count * lanes * 8^k numbers.  A row longer than L1 is finished part
// by part before the last pass joins the parts, so that every level of cache is filled once per pass at that level and
// not once per stage; `first(part, numbers)` does the first pass of a part.
template <class T, size_t count, class First>
void row(T *x, size_t n, First first) {
    constexpr size_t unit = count * Simd<T>::lanes;
    if (n * sizeof(T) > l1_bytes && n > unit) {
        const size_t part = n / radix;
        for (T *child = x; child != x + n; child += part) row<T, count>(child, part, first);
        radix_pass(x, n, part);
        return;
    }
    first(x, n);
    for (size_t stride = unit; stride < n; stride *= radix) radix_pass(x, n, stride);
}

// How many registers the first pass of a row of n numbers combines, so that radix-8 passes do all the rest.
template <class T>
inline size_t first_count(size_t n) {
    size_t count = n / Simd<T>::lanes;
    while (count > radix) count /= radix;
    return count;
}

// Rows shorter than a register, the stages from h on: several at once, the last ones through a padded copy.
template <class T, size_t n, size_t h>
void short_rows(T *data, size_t rows) {
    constexpr size_t lanes = Simd<T>::lanes;
    const size_t total = rows * n, whole = total - total % lanes;
    for (size_t i = 0; i != whole; i += lanes) store(data + i, row_stages<T, n, h>(load(data + i)));
    if (whole != total) {
        T padded[lanes] = {};
        __builtin_memcpy(padded, data + whole, (total - whole) * sizeof(T));
        store(padded, row_stages<T, n, h>(load(padded)));
        __builtin_memcpy(data + whole, padded, (total - whole) * sizeof(T));
    }
}

template <class T, size_t h, size_t n = Simd<T>::lanes / 2>
void short_rows_of(T *data, size_t rows, size_t width) {
    if constexpr (n > h) {
        if (width == n) return short_rows<T, n, h>(data, rows);
        short_rows_of<T, h, n / 2>(data, rows, width);
    }  // H of one number is that number
}

// Every row of `width` numbers, the stages from h on: with h = 1 the transform of the row, with larger h those of the h
// rows whose numbers it holds in turn.
template <class T, size_t h = 1>
void hadamard_rows(T *data, size_t rows, size_t width) {
    if (width < Simd<T>::lanes) return short_rows_of<T, h>(data, rows, width);
    const auto all = [=](auto first_pass, auto count) {
        for (T *x = data; x != data + rows * width; x += width) row<T, decltype(count)::value>(x, width, first_pass);
    };
    switch (first_count<T>(width)) {
        case 1: return all(first_pass<T, 1, h>, std::integral_constant<size_t, 1>{});
        case 2: return all(first_pass<T, 2, h>, std::integral_constant<size_t, 2>{});
        case 4: return all(first_pass<T, 4, h>, std::integral_constant<size_t, 4>{});
        default: return all(first_pass<T, 8, h>, std::integral_constant<size_t, 8>{});
    }
}

}  // namespace
