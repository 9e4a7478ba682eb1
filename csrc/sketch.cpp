// Sketches of powers of rows as products of complex projections, for one group of interleaved rows after the other, so
// that they never leave the cache.
#include "interleaved_rows.h"

namespace {

// Replaces a + ib by (a + ib)(c + id).
template <class T>
inline void multiply(T *a, T *b, const T *c, const T *d, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const T real = a[i] * c[i] - b[i] * d[i];
        b[i] = a[i] * d[i] + b[i] * c[i];
        a[i] = real;
    }
}

template <class T>
struct CountSketches {
    static constexpr size_t R = group_rows<T>;

    Rows<T> rows;
    size_t degree, size;
    const std::int32_t *places;
    const T *signs;
    T constant;
    T *scratch;  // 4 size columns of a group, and as many as rows have columns

    // Adds the entries of `some` rows from `first` on to their buckets, 2 size columns of a group.
    void hash(size_t first, size_t some, size_t s, T *buckets) const {
        const std::int32_t *place = places + s * (rows.columns + 1);
        const T *sign = signs + s * (rows.columns + 1), *group = scratch + 4 * size * R;
        for (size_t i = 0; i < 2 * size * R; ++i) buckets[i] = T(0);
        if (rows.index_bytes == 0) {
            for (size_t j = 0; j < rows.columns; ++j) {
                T *bucket = buckets + static_cast<size_t>(place[j]) * R;
                const auto sum = load_column(bucket) + load_column(group + j * R) * sign[j];
                __builtin_memcpy(bucket, &sum, sizeof sum);
            }
        } else {
            Rows<T> few = rows;
            few.starts += first, few.count = some;
            few.each([&](size_t r, auto entries) {
                for (size_t i = 0; i < entries.count; ++i) {
                    const size_t j = entries.column(i);
                    buckets[static_cast<size_t>(place[j]) * R + r] += sign[j] * entries.values[i];
                }
                return true;
            });
        }
        T *bucket = buckets + static_cast<size_t>(place[rows.columns]) * R;
        for (size_t r = 0; r < R; ++r) bucket[r] += sign[rows.columns] * constant;
    }

    // Writes the features of `some` rows.  Returns the first row that overflowed, or `some`.
    size_t write(size_t first, size_t some, const Places<T> &out, size_t width) const {
        const size_t part = size * R, kept = (width + 1) / 2 * R;
        T *buckets = scratch, *product = scratch + 2 * part;
        if (rows.index_bytes == 0) {
            const T *X = rows.values + first * rows.columns;
            interleave_rows(X, some, rows.columns, rows.columns, scratch + 4 * part);
        }
        for (size_t s = 0; s < degree; ++s) {
            T *target = s == 0 ? product : buckets;  // the first factor is where the product grows
            hash(first, some, s, target);
            hadamard_rows<T, R>(target, 2, part);
            if (s > 0) multiply(product, product + part, buckets, buckets + part, kept);
        }
        return write_parts(product, product + part, out, first, some, 0, width);
    }
};

// Projections are some outputs of H diag(complex signs) x, where x is followed by the constant, unless that is 0, and
// by zeros up to `size`.  The signs have shape (block, degree, part, size), followed by a register that may be read;
// the outputs have shape (degree, stride).
template <class T>
struct Srht {
    static constexpr size_t R = group_rows<T>;

    const T *X;
    size_t n;
    T constant;
    const T *signs;
    size_t degree, size;
    const std::int32_t *outputs;
    size_t stride;
    T *scratch;  // 5 times `size` columns of a group, or 5 times as many as a register has lanes if that is more

    // Selects some of the outputs.  Unless they are the first ones, multiplies them by the product so far.
    template <bool initial>
    static void pick(const T *a, const T *b, const std::int32_t *output, size_t count, T *real, T *imaginary) {
        for (size_t i = 0; i < count; i += register_columns<T>) {
            const Vector<T> c = gather_columns<T>(a, output + i), d = gather_columns<T>(b, output + i);
            T *x = real + i * R, *y = imaginary + i * R;
            if constexpr (initial) {
                store<T>(x, c);
                store<T>(y, d);
            } else {
                const Vector<T> u = load(x), v = load(y);
                store<T>(x, u * c - v * d);
                store<T>(y, u * d + v * c);
            }
        }
    }

    size_t write(size_t first, size_t some, const Places<T> &out, size_t width) const {
        const size_t part = (size > Simd<T>::lanes ? size : Simd<T>::lanes) * R, count = (width + 1) / 2;
        T *group = scratch, *a = group + part, *b = a + part, *real = b + part, *imaginary = real + part;
        size_t finite = some, filled = n + (constant != T(0));
        interleave_rows(X + first * n, some, n, size, group);
        for (size_t r = 0; constant != T(0) && r < some; ++r) group[n * R + r] = constant;
        for (size_t top = 0; top < count; top += size) {
            const size_t features = count - top < size ? count - top : size;
            for (size_t s = 0; s < degree; ++s) {
                const T *sign = signs + (top / size * degree + s) * 2 * size;
                const std::int32_t *output = outputs + s * stride + top;
                signed_hadamard(group, filled, sign, size, a);
                signed_hadamard(group, filled, sign + size, size, b);
                if (s == 0) {
                    pick<true>(a, b, output, features, real, imaginary);
                } else {
                    pick<false>(a, b, output, features, real, imaginary);
                }
            }
            const size_t left = width - 2 * top < 2 * size ? width - 2 * top : 2 * size;
            const size_t well = write_parts(real, imaginary, out, first, some, 2 * top, left);
            finite = well < finite ? well : finite;
        }
        return finite;
    }
};

// Features scale (H diag(signs) x)[outputs] of rows of n numbers padded with zeros to `size`, which is what `scratch`
// holds.
template <class T>
size_t craft(const T *X, size_t rows, size_t n, const T *signs, size_t size, const std::int32_t *outputs, size_t width,
             T scale, T *out, T *scratch) {
    size_t finite = rows;
    for (size_t r = 0; r < rows; ++r) {
        const T *x = X + r * n;
        for (size_t i = 0; i < n; ++i) scratch[i] = x[i] * signs[i];
        for (size_t i = n; i < size; ++i) scratch[i] = T(0);
        hadamard_rows(scratch, 1, size);
        T *features = out + r * width;
        for (size_t i = 0; i < width; ++i) features[i] = scale * scratch[outputs[i]];
        if (finite == rows && !all_finite(features, width)) finite = r;
    }
    return finite;
}

// Calls write(first, some) on one group of rows after the other.  Returns the first row that overflowed, or `rows`.
template <class T, class Write>
size_t each_group(size_t rows, Write write) {
    size_t finite = rows;
    for (size_t first = 0; first < rows; first += group_rows<T>) {
        const size_t some = rows - first < group_rows<T> ? rows - first : group_rows<T>;
        const size_t well = write(first, some);
        if (well < some && finite == rows) finite = first + well;
    }
    return finite;
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_SKETCH(suffix, T)                                                                                     \
    size_t hadamard_sketch_##suffix(const T *values, const void *indices, size_t index_bytes,                        \
                                    const std::int64_t *starts, size_t rows, size_t columns,                         \
                                    const std::int32_t *places, const T *signs, size_t degree, size_t size,          \
                                    T constant, T scale, size_t width, T *out, T *scratch) {                         \
        const Rows<T> X{values, indices, index_bytes, starts, rows, columns};                                        \
        const CountSketches<T> sketches{X, degree, size, places, signs, constant, scratch};                          \
        const Places<T> features{out, width, scale, nullptr};                                                        \
        return each_group<T>(rows, [&](size_t first, size_t some) {                                                  \
            return sketches.write(first, some, features, width);                                                     \
        });                                                                                                          \
    }                                                                                                                \
    size_t srht_##suffix(const T *X, size_t rows, size_t n, T constant, const T *signs, size_t degree, size_t size,  \
                         const std::int32_t *outputs, size_t stride, size_t width, T scale, const T *scales, T *out, \
                         size_t out_stride, T *scratch) {                                                            \
        const Srht<T> srht{X, n, constant, signs, degree, size, outputs, stride, scratch};                           \
        const Places<T> features{out, out_stride, scale, scales};                                                    \
        return each_group<T>(rows, [&](size_t first, size_t some) {                                                  \
            return srht.write(first, some, features, width);                                                         \
        });                                                                                                          \
    }                                                                                                                \
    size_t craft_##suffix(const T *X, size_t rows, size_t n, const T *signs, size_t size,                            \
                          const std::int32_t *outputs, size_t width, T scale, T *out, T *scratch) {                  \
        return craft(X, rows, n, signs, size, outputs, width, scale, out, scratch);                                  \
    }

MERCER_SKETCH(f32, float)
MERCER_SKETCH(f64, double)

}  // namespace mercer::MERCER_ISA
