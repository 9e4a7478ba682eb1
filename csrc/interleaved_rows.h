// A few rows at once, stored as [index][row]: one number of each makes a piece of 16 bytes, the smallest register.
//
// What is looked up by index is then read and written a piece at a time, not number by number, and the stages of a
// transform inside a register are fewer; four rows of floats still fit in L1 where a register of rows would not.
#pragma once

#include "hadamard.h"
#include "rows.h"
#include "transpose.h"

namespace {

template <class T>
constexpr size_t together = 16 / sizeof(T);

template <class T>
constexpr size_t pieces = Simd<T>::lanes / together<T>;  // in a register

template <class T, size_t count>
struct Pieces {
    typedef T vector __attribute__((vector_size(16 * count)));
};

template <class T>
MERCER_INLINE typename Pieces<T, 1>::vector load_piece(const T *from) {
    typename Pieces<T, 1>::vector piece;
    __builtin_memcpy(&piece, from, sizeof piece);
    return piece;
}

template <class Half, class Whole, size_t... i>
MERCER_INLINE Whole joined(Half a, Half b, std::index_sequence<i...>) {
    return __builtin_shufflevector(a, b, i...);
}

// The pieces of these indices, side by side.
template <class T, size_t count = pieces<T>>
MERCER_INLINE typename Pieces<T, count>::vector gather_pieces(const T *from, const std::int32_t *indices) {
    if constexpr (count == 1) {
        return load_piece(from + static_cast<size_t>(*indices) * together<T>);
    } else {
        typedef typename Pieces<T, count / 2>::vector Half;
        const Half a = gather_pieces<T, count / 2>(from, indices);
        const Half b = gather_pieces<T, count / 2>(from, indices + count / 2);
        return joined<Half, typename Pieces<T, count>::vector>(a, b, std::make_index_sequence<count * together<T>>{});
    }
}

// A register of pieces whose numbers are all alike: those of one `from` each.  A whole register is read.
template <class T, size_t... lane>
MERCER_INLINE Vector<T> spread(const T *from, std::index_sequence<lane...>) {
    const Vector<T> numbers = load(from);
    return __builtin_shufflevector(numbers, numbers, (lane / together<T>)...);
}

template <class T>
MERCER_INLINE Vector<T> spread(const T *from) {
    return spread(from, std::make_index_sequence<Simd<T>::lanes>{});
}

// The numbers in even (odd = 0) or odd places of two registers.
template <class T, size_t odd, size_t... lane>
MERCER_INLINE Vector<T> every_second(Vector<T> a, Vector<T> b, std::index_sequence<lane...>) {
    return __builtin_shufflevector(a, b, (2 * lane + odd)...);
}

// Registers of one row each become registers of pieces.
template <class T>
MERCER_INLINE void interleave(Vector<T> (&v)[together<T>]) {
    if constexpr (together<T> == 2) {
        const Vector<T> a = v[0], b = v[1];
        v[0] = interleave<T>(a, b).low, v[1] = interleave<T>(a, b).high;
    } else {
        const Vector<T> low[2] = {interleave<T>(v[0], v[2]).low, interleave<T>(v[1], v[3]).low};
        const Vector<T> high[2] = {interleave<T>(v[0], v[2]).high, interleave<T>(v[1], v[3]).high};
        v[0] = interleave<T>(low[0], low[1]).low, v[1] = interleave<T>(low[0], low[1]).high;
        v[2] = interleave<T>(high[0], high[1]).low, v[3] = interleave<T>(high[0], high[1]).high;
    }
}

// And back.
template <class T>
MERCER_INLINE void separate(Vector<T> (&v)[together<T>]) {
    constexpr std::make_index_sequence<Simd<T>::lanes> all{};
    if constexpr (together<T> == 2) {
        const Vector<T> a = v[0], b = v[1];
        v[0] = every_second<T, 0>(a, b, all), v[1] = every_second<T, 1>(a, b, all);
    } else {
        const Vector<T> even[2] = {every_second<T, 0>(v[0], v[1], all), every_second<T, 0>(v[2], v[3], all)};
        const Vector<T> odd[2] = {every_second<T, 1>(v[0], v[1], all), every_second<T, 1>(v[2], v[3], all)};
        v[0] = every_second<T, 0>(even[0], even[1], all), v[2] = every_second<T, 1>(even[0], even[1], all);
        v[1] = every_second<T, 0>(odd[0], odd[1], all), v[3] = every_second<T, 1>(odd[0], odd[1], all);
    }
}

// group[j][r] = X[r][j] for `rows` rows, at most as many as go together, of n numbers; zeros stand for other rows, and
// follow up to `size` pieces.
template <class T>
void gather_pieces_of_rows(const T *X, size_t rows, size_t n, size_t size, T *group) {
    constexpr size_t lanes = Simd<T>::lanes, R = together<T>;
    size_t j = 0;
    for (; rows == R && j + lanes <= n; j += lanes) {
        Vector<T> v[R];
        load_registers<T>(v, X + j, n);
        interleave<T>(v);
        store_registers<T>(group + j * R, v);
    }
    for (; j < n; ++j) {
        for (size_t r = 0; r < R; ++r) group[j * R + r] = r < rows ? X[r * n + j] : T(0);
    }
    for (size_t i = n * R; i < size * R; ++i) group[i] = T(0);
}

// y = H diag(signs) x for `size` pieces x, of which those from `filled` on are 0: the first pass multiplies.  After the
// last sign a register can be read.
template <class T, size_t count>
void signed_hadamard(const T *group, size_t filled, const T *signs, size_t size, T *y) {
    constexpr size_t R = together<T>;
    row<T, count>(y, size * R, [=](T *part, size_t numbers) {
        const size_t offset = static_cast<size_t>(part - y);
        for (size_t i = 0; i < numbers; i += count * Simd<T>::lanes) {
            Vector<T> v[count] = {};
            if (offset + i < filled * R) {
                load_registers<T>(v, group + offset + i);
#pragma GCC unroll 8
                for (size_t k = 0; k < count; ++k) v[k] *= spread(signs + (offset + i) / R + k * pieces<T>);
                adjacent_stages<T, R>(v);
            }
            store_registers<T>(part + i, v);
        }
    });
}

template <class T>
void signed_hadamard(const T *group, size_t filled, const T *signs, size_t size, T *y) {
    constexpr size_t R = together<T>;
    if (size * R < Simd<T>::lanes) {
        for (size_t i = 0; i < size * R; ++i) y[i] = group[i] * signs[i / R];
        return hadamard_rows<T, R>(y, 1, size * R);
    }
    switch (first_count<T>(size * R)) {
        case 1: return signed_hadamard<T, 1>(group, filled, signs, size, y);
        case 2: return signed_hadamard<T, 2>(group, filled, signs, size, y);
        case 4: return signed_hadamard<T, 4>(group, filled, signs, size, y);
        default: return signed_hadamard<T, 8>(group, filled, signs, size, y);
    }
}

// Where the features of some rows go: row r at out + r * stride, times scales[r] where there are such.
template <class T>
struct Places {
    T *out;
    size_t stride;
    T scale;
    const T *scales;

    T scale_of(size_t row) const { return scales ? scale * scales[row] : scale; }
};

// Features scale (Re z_0, Im z_0, Re z_1, ...) of `rows` rows from `first` on, whose parts are given as pieces;
// `column` is that of Re z_0.  The first row with a feature that is not finite, or `rows`.
template <class T>
size_t write_parts(const T *real, const T *imaginary, const Places<T> &places, size_t first, size_t rows, size_t column,
                   size_t width) {
    constexpr size_t lanes = Simd<T>::lanes, R = together<T>;
    T *out = places.out + first * places.stride + column;
    Finite<T> finite[R];
    bool rest[R];
    T scale[R];
    for (size_t r = 0; r < R; ++r) rest[r] = true, scale[r] = r < rows ? places.scale_of(first + r) : T(0);
    size_t i = 0;
    for (; i + lanes <= width / 2; i += lanes) {
        Vector<T> a[R], b[R];
        load_registers<T>(a, real + i * R);
        load_registers<T>(b, imaginary + i * R);
        separate<T>(a);
        separate<T>(b);
#pragma GCC unroll 4
        for (size_t r = 0; r < R; ++r) {
            if (r < rows) {
                const Vector<T> c = a[r] * scale[r], d = b[r] * scale[r];
                finite[r].see(c);
                finite[r].see(d);
                store_interleaved<T>(out + r * places.stride + 2 * i, c, d);
            }
        }
    }
    const auto single = [&](size_t r, size_t j, T part) {
        const T feature = scale[r] * part;
        out[r * places.stride + j] = feature;
        rest[r] &= feature - feature == T(0);
    };
    for (; 2 * i < width; ++i) {
        for (size_t r = 0; r < rows; ++r) {
            single(r, 2 * i, real[i * R + r]);
            if (2 * i + 1 < width) single(r, 2 * i + 1, imaginary[i * R + r]);
        }
    }
    for (size_t r = 0; r < rows; ++r) {
        if (!rest[r] || !finite[r].holds()) return r;
    }
    return rows;
}

}  // namespace
