// Alternating signs and transforms, H D3 H D2 H D1 x, in as few passes over the numbers as registers allow.
//
// The stages of a transform may run in any order.  Every second transform starts with the stages that the one before it
// ended with, so that the two share a pass, which loads numbers, ends one transform, flips signs and begins the next.
// The first and the third transform begin with the highest bits; if only the first outputs are wanted, the third
// computes no others from there on.
#pragma once

#include "hadamard.h"

namespace {

// How many bits a pass may hold in registers, leaving as many registers for signs and sums.
constexpr size_t most_bits = MERCER_VECTOR_BYTES == 64 ? 4 : 3;

// The stages of the bits above runs of `unit` numbers, as passes over numbers `stride` apart, the highest first.
struct Strides {
    struct Pass {
        size_t bits, stride;
    };
    Pass passes[8 * sizeof(size_t)];
    size_t count = 0;

    Strides(size_t size, size_t unit) {
        size_t bits = 0;
        while (unit << bits < size) ++bits;
        for (size_t left = (bits + most_bits - 1) / most_bits; left > 0; --left) {
            const size_t taken = (bits + left - 1) / left;
            bits -= taken;
            passes[count++] = {taken, unit << bits};
        }
    }
};

template <class T>
inline void strided_pass(T *y, size_t n, Strides::Pass pass) {
    switch (pass.bits) {
        case 1: return radix_pass<T, 2>(y, n, pass.stride);
        case 2: return radix_pass<T, 4>(y, n, pass.stride);
        case 3: return radix_pass<T, 8>(y, n, pass.stride);
        default: return radix_pass<T, 16>(y, n, pass.stride);
    }
}

// What to prefetch while a row is transformed, so that it is in cache when it is needed: numbers that will be read, and
// room that will be written, at most twice as much.
template <class T>
struct Ahead {
    const T *read;
    size_t reads;
    T *written;
    size_t writes;

    // Prefetches the share of numbers [first, first + count): a few at a time, between other work.
    template <size_t count>
    MERCER_INLINE void ask(size_t first) const {
        constexpr size_t line = 64 / sizeof(T);
        if (first < reads) {
#pragma GCC unroll 16
            for (size_t i = 0; i < count; i += line) __builtin_prefetch(read + first + i, 0);
        }
        if (2 * first < writes) {
#pragma GCC unroll 32
            for (size_t i = 0; i < 2 * count; i += line) __builtin_prefetch(written + 2 * first + i, 1);
        }
    }
};

// The end of a transform, signs, and the beginning of the next, over runs of adjacent registers.
template <class T, size_t count>
inline void adjacent_twice(T *y, size_t n, const T *signs, const Ahead<T> &ahead) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t run = 0; run < n; run += count * lanes) {
        Vector<T> v[count];
        load_registers<T>(v, y + run);
        ahead.template ask<count * lanes>(run);
        adjacent_stages<T, 1>(v);
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) v[i] *= load(signs + run + i * lanes);
        register_stages<T>(v);  // before those inside: their sums take up half of the products
        lane_stages<T, count, 1>(v);
        store_registers<T>(y + run, v);
    }
}

// The same over all numbers, radix of them `stride` apart; the first `kept` strides of outputs are wanted.
template <class T, size_t radix, size_t kept>
inline void strided_twice(T *y, size_t stride, const T *signs) {
    for (size_t at = 0; at < stride; at += Simd<T>::lanes) {
        Vector<T> v[radix], first[kept];
        load_registers<T>(v, y + at, stride);
        register_stages<T>(v);
#pragma GCC unroll 16
        for (size_t i = 0; i < radix; ++i) v[i] *= load(signs + at + i * stride);
        // The first half of H (a, b) is H (a + b).
#pragma GCC unroll 16
        for (size_t i = kept; i < radix; ++i) v[i % kept] += v[i];
#pragma GCC unroll 16
        for (size_t i = 0; i < kept; ++i) first[i] = v[i];
        register_stages<T>(first);
        store_registers<T>(y + at, first, stride);
    }
}

// The first stages of all, those of D1 x, `radix` numbers `stride` apart, into y; x has n numbers and zeros after them.
template <class T, size_t radix>
inline void signed_pass(T *y, const T *x, size_t n, const T *signs, size_t stride) {
    constexpr size_t lanes = Simd<T>::lanes;
    const size_t whole = n / lanes * lanes;
    T rest[2 * lanes] = {};
    for (size_t j = whole; j < n; ++j) rest[j - whole] = x[j];
    for (size_t at = 0; at < stride; at += lanes) {
        Vector<T> v[radix];
#pragma GCC unroll 16
        for (size_t i = 0; i < radix; ++i) {
            const size_t j = at + i * stride;
            const T *from = j < whole ? x + j : rest + (j == whole ? 0 : lanes);
            v[i] = load(from) * load(signs + j);
        }
        register_stages<T>(v);
        store_registers<T>(y + at, v, stride);
    }
}

template <class T>
inline void signed_pass(T *y, const T *x, size_t n, const T *signs, Strides::Pass pass) {
    switch (pass.bits) {
        case 1: return signed_pass<T, 2>(y, x, n, signs, pass.stride);
        case 2: return signed_pass<T, 4>(y, x, n, signs, pass.stride);
        case 3: return signed_pass<T, 8>(y, x, n, signs, pass.stride);
        default: return signed_pass<T, 16>(y, x, n, signs, pass.stride);
    }
}

// Returns how many numbers were kept, at least those that are wanted.
template <class T, size_t radix, size_t kept = radix>
inline size_t strided_twice(T *y, size_t stride, const T *signs, size_t wanted) {
    if constexpr (kept > 1) {
        if (wanted <= kept / 2 * stride) return strided_twice<T, radix, kept / 2>(y, stride, signs, wanted);
    }
    strided_twice<T, radix, kept>(y, stride, signs);
    return kept * stride;
}

template <class T>
inline size_t strided_twice(T *y, Strides::Pass pass, const T *signs, size_t wanted) {
    switch (pass.bits) {
        case 1: return strided_twice<T, 2>(y, pass.stride, signs, wanted);
        case 2: return strided_twice<T, 4>(y, pass.stride, signs, wanted);
        case 3: return strided_twice<T, 8>(y, pass.stride, signs, wanted);
        default: return strided_twice<T, 16>(y, pass.stride, signs, wanted);
    }
}

// y = x * s for n numbers, zeros up to `size`.
template <class T>
inline void multiply(T *y, const T *x, const T *s, size_t n, size_t size) {
    for (size_t i = 0; i < n; ++i) y[i] = x[i] * s[i];
    for (size_t i = n; i < size; ++i) y[i] = T(0);
}

// For each of `rows` rows x, of n numbers followed by zeros: the first `wanted` of the `size` numbers y = H D3 H D2 H
// D1 x, except for the stages among `count` adjacent registers, which are left to the caller.
//
// A pass over a row has to wait for the pass before it to end.  The same pass over the other rows comes in between, so
// that it does not.
template <class T, size_t count, class Next>
inline void rotate(T *y, const T *X, size_t rows, size_t n, const T *signs, size_t size, const Strides &strides,
                   size_t wanted, Next ahead) {
    const auto each = [&](auto pass) {
        for (size_t row = 0; row < rows; ++row) pass(y + row * size, row);
    };
    const T *second = signs + size, *third = second + size;
    const auto plain = [&](size_t i, size_t kept) {
        each([&](T *y, size_t) { strided_pass(y, kept, strides.passes[i]); });
    };
    if (strides.count == 0) {
        each([&](T *y, size_t row) { multiply(y, X + row * n, signs, n, size); });
        each([&](T *y, size_t row) { adjacent_twice<T, count>(y, size, second, ahead(row)); });
        return each([&](T *y, size_t) { multiply(y, y, third, size, size); });
    }
    each([&](T *y, size_t row) { signed_pass(y, X + row * n, n, signs, strides.passes[0]); });
    for (size_t i = 1; i < strides.count; ++i) plain(i, size);
    each([&](T *y, size_t row) { adjacent_twice<T, count>(y, size, second, ahead(row)); });
    for (size_t i = strides.count - 1; i > 0; --i) plain(i, size);
    size_t kept = size;
    each([&](T *y, size_t) { kept = strided_twice(y, strides.passes[0], third, wanted); });
    for (size_t i = 1; i < strides.count; ++i) plain(i, kept);
}

}  // namespace
