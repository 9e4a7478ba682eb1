// Interleaved rows: a group of as many rows as numbers fit in 16 bytes, the smallest register, stored as [column][row].
//
// Lookups by index then move a whole column of the group instead of single numbers, and a transform has fewer stages
// inside a register.  Four rows of floats still fit in L1, where a group as wide as a register would not.
#pragma once

#include "hadamard.h"
#include "rows.h"
#include "transpose.h"

namespace {

// Rows of a group.
template <class T>
constexpr size_t group_rows = 16 / sizeof(T);

// Columns of a group that a register holds.
template <class T>
constexpr size_t register_columns = Simd<T>::lanes / group_rows<T>;

template <class T, size_t count>
struct Columns {
    typedef T vector __attribute__((vector_size(16 * count)));
};

template <class T>
MERCER_INLINE typename Columns<T, 1>::vector load_column(const T *from) {
    typename Columns<T, 1>::vector column;
    __builtin_memcpy(&column, from, sizeof column);
    return column;
}

template <class Half, class Whole, size_t... i>
MERCER_INLINE Whole joined(Half a, Half b, std::index_sequence<i...>) {
    return __builtin_shufflevector(a, b, i...);
}

// The columns with these indices, side by side.
template <class T, size_t count = register_columns<T>>
MERCER_INLINE typename Columns<T, count>::vector gather_columns(const T *from, const std::int32_t *indices) {
    if constexpr (count == 1) {
        return load_column(from + static_cast<size_t>(*indices) * group_rows<T>);
    } else {
        typedef typename Columns<T, count / 2>::vector Half;
        const Half a = gather_columns<T, count / 2>(from, indices);
        const Half b = gather_columns<T, count / 2>(from, indices + count / 2);
        constexpr std::make_index_sequence<count * group_rows<T>> lanes{};
        return joined<Half, typename Columns<T, count>::vector>(a, b, lanes);
    }
}

// A register of columns, each filled with one of the numbers that begin at `from`.  A whole register is read.
template <class T, size_t... lane>
MERCER_INLINE Vector<T> broadcast_columns(const T *from, std::index_sequence<lane...>) {
    const Vector<T> numbers = load(from);
    return __builtin_shufflevector(numbers, numbers, (lane / group_rows<T>)...);
}

template <class T>
MERCER_INLINE Vector<T> broadcast_columns(const T *from) {
    return broadcast_columns(from, std::make_index_sequence<Simd<T>::lanes>{});
}

// The numbers in the even (odd = 0) or odd places of two registers.
template <class T, size_t odd, size_t... lane>
MERCER_INLINE Vector<T> every_second(Vector<T> a, Vector<T> b, std::index_sequence<lane...>) {
    return __builtin_shufflevector(a, b, (2 * lane + odd)...);
}

// Turns registers that hold one row each into registers of columns.
template <class T>
MERCER_INLINE void interleave(Vector<T> (&v)[group_rows<T>]) {
    if constexpr (group_rows<T> == 2) {
        const Vector<T> a = v[0], b = v[1];
        v[0] = interleave<T>(a, b).low, v[1] = interleave<T>(a, b).high;
    } else {
        const Vector<T> low[2] = {interleave<T>(v[0], v[2]).low, interleave<T>(v[1], v[3]).low};
        const Vector<T> high[2] = {interleave<T>(v[0], v[2]).high, interleave<T>(v[1], v[3]).high};
        v[0] = interleave<T>(low[0], low[1]).low, v[1] = interleave<T>(low[0], low[1]).high;
        v[2] = interleave<T>(high[0], high[1]).low, v[3] = interleave<T>(high[0], high[1]).high;
    }
}

// The inverse of interleave().
template <class T>
MERCER_INLINE void separate(Vector<T> (&v)[group_rows<T>]) {
    constexpr std::make_index_sequence<Simd<T>::lanes> all{};
    if constexpr (group_rows<T> == 2) {
        const Vector<T> a = v[0], b = v[1];
        v[0] = every_second<T, 0>(a, b, all), v[1] = every_second<T, 1>(a, b, all);
    } else {
        const Vector<T> even[2] = {every_second<T, 0>(v[0], v[1], all), every_second<T, 0>(v[2], v[3], all)};
        const Vector<T> odd[2] = {every_second<T, 1>(v[0], v[1], all), every_second<T, 1>(v[2], v[3], all)};
        v[0] = every_second<T, 0>(even[0], even[1], all), v[2] = every_second<T, 1>(even[0], even[1], all);
        v[1] = every_second<T, 0>(odd[0], odd[1], all), v[3] = every_second<T, 1>(odd[0], odd[1], all);
    }
}

// group[j][r] = X[r][j] for `rows` rows of n numbers, at most a group of them.  Missing rows are zeros, and so are the
// columns from n up to `size`.
template <class T>
void interleave_rows(const T *X, size_t rows, size_t n, size_t size, T *group) {
    constexpr size_t lanes = Simd<T>::lanes, R = group_rows<T>;
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

// y = H diag(signs) x for a group x of `size` columns, of which those from `filled` on are 0; the first pass multiplies
// by the signs.  A register can be read after the last sign.
template <class T, size_t count>
void signed_hadamard(const T *group, size_t filled, const T *signs, size_t size, T *y) {
    constexpr size_t R = group_rows<T>;
    row<T, count>(y, size * R, [=](T *part, size_t numbers) {
        const size_t offset = static_cast<size_t>(part - y);
        for (size_t i = 0; i < numbers; i += count * Simd<T>::lanes) {
            Vector<T> v[count] = {};
            if (offset + i < filled * R) {
                load_registers<T>(v, group + offset + i);
#pragma GCC unroll 8
                for (size_t k = 0; k < count; ++k) {
                    v[k] *= broadcast_columns(signs + (offset + i) / R + k * register_columns<T>);
                }
                adjacent_stages<T, R>(v);
            }
            store_registers<T>(part + i, v);
        }
    });
}

template <class T>
void signed_hadamard(const T *group, size_t filled, const T *signs, size_t size, T *y) {
    constexpr size_t R = group_rows<T>;
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

// Where features are written: those of row r to out + r * stride, multiplied by scales[r] unless that pointer is null.
template <class T>
struct Places {
    T *out;
    size_t stride;
    T scale;
    const T *scales;

    T scale_of(size_t row) const { return scales ? scale * scales[row] : scale; }
};

// Writes features scale (Re z_0, Im z_0, Re z_1, ...) of `rows` rows from `first` on, whose real and imaginary parts
// come as a group; Re z_0 goes to `column`.  Returns the first row with a feature that is not finite, or `rows`.
template <class T>
size_t write_parts(const T *real, const T *imaginary, const Places<T> &places, size_t first, size_t rows, size_t column,
                   size_t width) {
    constexpr size_t lanes = Simd<T>::lanes, R = group_rows<T>;
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
