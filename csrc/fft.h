// The discrete Fourier transform of a group of rows (transpose.h), in place.
//
// Complex number k of a row consists of columns 2 k and 2 k + 1.  A pass divides the length n by a radix r: with
// m = n / r it replaces x[j], x[j + m], ... by their transform of length r, times powers of exp(-2 pi i / n), and
// leaves r transforms of length m.  The result is in digit-reversed order, which the caller undoes when reading it; the
// inverse starts from there.  A part that fits in L1 is finished before the next one is begun.
#pragma once

#include "isa.h"

#include <cstdint>

namespace {

using std::size_t;

// What Python prepares: the radices, the powers of exp(-2 pi i / n) of one pass after the other ([j][1 ... r - 1]), and
// where each frequency ends up.
template <class T>
struct Fourier {
    size_t length;
    const std::int32_t *radices;
    const T *turns;
    const std::int32_t *order;
};

template <class T>
struct Complex {
    Vector<T> re, im;
};

template <class T>
inline Complex<T> operator+(Complex<T> a, Complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T>
inline Complex<T> operator-(Complex<T> a, Complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T>
inline Complex<T> operator*(Complex<T> a, T c) { return {a.re * c, a.im * c}; }
template <class T>
inline Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
inline Complex<T> turned(Complex<T> a, const T *w) {
    return {a.re * w[0] - a.im * w[1], a.im * w[0] + a.re * w[1]};
}
template <class T>
inline Complex<T> times_minus_i(Complex<T> a) { return {a.im, -a.re}; }
template <class T>
inline Complex<T> conjugate(Complex<T> a) { return {a.re, -a.im}; }

// The inverse transform is the forward one with real and imaginary parts exchanged before and after.
template <class T, bool exchanged = false>
inline Complex<T> load_complex(const T *z, size_t k) {
    constexpr size_t lanes = Simd<T>::lanes;
    const T *at = z + 2 * lanes * k;
    if constexpr (exchanged) return {load(at + lanes), load(at)};
    return {load(at), load(at + lanes)};
}

template <class T, bool exchanged = false>
inline void store_complex(T *z, size_t k, Complex<T> value) {
    constexpr size_t lanes = Simd<T>::lanes;
    T *at = z + 2 * lanes * k;
    store(at + (exchanged ? lanes : 0), value.re);
    store(at + (exchanged ? 0 : lanes), value.im);
}

// Transforms of very short rows, in natural order.
template <class T>
inline void transform(Complex<T> (&v)[2]) {
    const Complex<T> a = v[0], b = v[1];
    v[0] = a + b;
    v[1] = a - b;
}

template <class T>
inline void transform(Complex<T> (&v)[3]) {
    constexpr T half_root_3 = T(0.86602540378443864676);
    const Complex<T> sum = v[1] + v[2], across = times_minus_i(v[1] - v[2]) * half_root_3;
    const Complex<T> middle = v[0] - sum * T(0.5);
    v[0] = v[0] + sum;
    v[1] = middle + across;
    v[2] = middle - across;
}

template <class T>
inline void transform(Complex<T> (&v)[4]) {
    const Complex<T> a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = times_minus_i(v[1] - v[3]);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
}

template <class T>
inline void transform(Complex<T> (&v)[5]) {
    constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
    constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
    const Complex<T> a = v[1] + v[4], b = v[2] + v[3];
    const Complex<T> c = times_minus_i(v[1] - v[4]), d = times_minus_i(v[2] - v[3]);
    const Complex<T> even1 = v[0] + a * c1 + b * c2, even2 = v[0] + a * c2 + b * c1;
    const Complex<T> odd1 = c * s1 + d * s2, odd2 = c * s2 - d * s1;
    v[0] = v[0] + a + b;
    v[1] = even1 + odd1;
    v[2] = even2 + odd2;
    v[3] = even2 - odd2;
    v[4] = even1 - odd1;
}

template <class T>
inline void transform(Complex<T> (&v)[8]) {
    constexpr T root = T(0.70710678118654752440);
    Complex<T> even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
    transform(even);
    transform(odd);
    odd[1] = (odd[1] + times_minus_i(odd[1])) * root;
    odd[2] = times_minus_i(odd[2]);
    odd[3] = (times_minus_i(odd[3]) - odd[3]) * root;
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
        v[i] = even[i] + odd[i];
        v[i + 4] = even[i] - odd[i];
    }
}

// One pass over a block of n numbers.  The last pass has blocks of r numbers, and multiplies by no powers.
template <class T, size_t r, bool inverse>
void pass(T *z, size_t n, const T *turns) {
    const size_t m = n / r;
    for (size_t j = 0; j < m; ++j, turns += 2 * (r - 1)) {
        Complex<T> v[r];
#pragma GCC unroll 8
        for (size_t q = 0; q < r; ++q) {
            v[q] = load_complex<T, inverse>(z, j + q * m);
            if (inverse && q > 0) v[q] = turned(v[q], turns + 2 * (q - 1));
        }
        transform(v);
#pragma GCC unroll 8
        for (size_t q = 0; q < r; ++q) {
            if (!inverse && q > 0) v[q] = turned(v[q], turns + 2 * (q - 1));
            store_complex<T, inverse>(z, j + q * m, v[q]);
        }
    }
}

template <class T, size_t r, bool inverse>
void last_pass(T *z, size_t blocks) {
    for (size_t block = 0; block < blocks; ++block) {
        Complex<T> v[r];
#pragma GCC unroll 8
        for (size_t q = 0; q < r; ++q) v[q] = load_complex<T, inverse>(z, block * r + q);
        transform(v);
#pragma GCC unroll 8
        for (size_t q = 0; q < r; ++q) store_complex<T, inverse>(z, block * r + q, v[q]);
    }
}

template <class T, size_t r, bool inverse>
inline void passes(T *z, size_t n, size_t blocks, const T *turns) {
    if (n == r) return last_pass<T, r, inverse>(z, blocks);
    for (size_t block = 0; block < blocks; ++block) pass<T, r, inverse>(z + 2 * Simd<T>::lanes * n * block, n, turns);
}

template <class T, bool inverse>
inline void passes_of(size_t radix, T *z, size_t n, size_t blocks, const T *turns) {
    switch (radix) {
        case 2: return passes<T, 2, inverse>(z, n, blocks, turns);
        case 3: return passes<T, 3, inverse>(z, n, blocks, turns);
        case 4: return passes<T, 4, inverse>(z, n, blocks, turns);
        case 5: return passes<T, 5, inverse>(z, n, blocks, turns);
        default: return passes<T, 8, inverse>(z, n, blocks, turns);
    }
}

constexpr size_t part_bytes = 32 * 1024;

// Consecutive blocks of n numbers each.
template <class T, bool inverse>
void transform_blocks(T *z, size_t n, size_t blocks, const std::int32_t *radices, const T *turns) {
    if (n == 1) return;
    constexpr size_t number = 2 * Simd<T>::lanes;
    if (blocks > 1 && blocks * n * number * sizeof(T) > part_bytes) {
        for (size_t b = 0; b < blocks; ++b) transform_blocks<T, inverse>(z + number * n * b, n, 1, radices, turns);
        return;
    }
    const size_t r = static_cast<size_t>(*radices), m = n / r;
    if (!inverse) passes_of<T, false>(r, z, n, blocks, turns);
    transform_blocks<T, inverse>(z, m, blocks * r, radices + 1, turns + 2 * (r - 1) * m);
    if (inverse) passes_of<T, true>(r, z, n, blocks, turns);
}

// From natural to digit-reversed order.
template <class T>
inline void forward(const Fourier<T> &plan, T *z) {
    transform_blocks<T, false>(z, plan.length, 1, plan.radices, plan.turns);
}

// From digit-reversed to natural order, not normalised: `length` times the inverse.
template <class T>
inline void backward(const Fourier<T> &plan, T *z) {
    transform_blocks<T, true>(z, plan.length, 1, plan.radices, plan.turns);
}

}  // namespace
