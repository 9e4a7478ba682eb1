// Sketches of powers of rows as products of complex projections, a row at a time, so that a row never leaves the cache.
#include "hadamard.h"

#include <cstdint>

namespace {

// The entries of a row: `count` values, in the columns 0, 1, 2, ... where `columns` is null.
template <class T, class Index>
struct Entries {
    const T *values;
    const Index *columns;
    size_t count;
};

template <class T, class Index>
inline void add(T *buckets, const Entries<T, Index> &row, const std::int32_t *places, const T *signs) {
    for (size_t i = 0; i < row.count; ++i) {
        const size_t j = row.columns ? static_cast<size_t>(row.columns[i]) : i;
        buckets[places[j]] += signs[j] * row.values[i];
    }
}

// (a, b) becomes (a + ib)(c + id), in parts.
template <class T>
inline void multiply(T *a, T *b, const T *c, const T *d, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const T real = a[i] * c[i] - b[i] * d[i];
        b[i] = a[i] * d[i] + b[i] * c[i];
        a[i] = real;
    }
}

// Features scale (Re z_0, Im z_0, Re z_1, ...).
template <class T>
inline void write_parts(const T *real, const T *imaginary, size_t width, T scale, T *out) {
    for (size_t i = 0; i < width / 2; ++i) {
        out[2 * i] = scale * real[i];
        out[2 * i + 1] = scale * imaginary[i];
    }
    if (width % 2) out[width - 1] = scale * real[width / 2];
}

template <class T>
struct Sketch {
    size_t columns, degree, size, width;
    const std::int32_t *places;
    const T *signs;
    T constant, scale;
    T *scratch;

    template <class Index>
    void row(const Entries<T, Index> &entries, T *out) const {
        const size_t kept = (width + 1) / 2;
        T *buckets = scratch, *real = scratch + 2 * size, *imaginary = real + size;
        for (size_t s = 0; s < degree; ++s) {
            T *target = s == 0 ? real : buckets;  // the first factor is where the product grows
            for (size_t i = 0; i < 2 * size; ++i) target[i] = T(0);
            const std::int32_t *place = places + s * (columns + 1);
            const T *sign = signs + s * (columns + 1);
            add(target, entries, place, sign);
            target[place[columns]] += sign[columns] * constant;
            hadamard_rows(target, 2, size);
            if (s > 0) multiply(real, imaginary, buckets, buckets + size, kept);
        }
        write_parts(real, imaginary, width, scale, out);
    }

    template <class Index>
    void sparse(const T *values, const Index *indices, const std::int64_t *starts, size_t rows, T *out) const {
        for (size_t r = 0; r < rows; ++r) {
            const size_t start = static_cast<size_t>(starts[r]), stop = static_cast<size_t>(starts[r + 1]);
            row(Entries<T, Index>{values + start, indices + start, stop - start}, out + r * width);
        }
    }
};

template <class T>
void hadamard_sketch(const T *values, const void *indices, size_t index_bytes, const std::int64_t *starts, size_t rows,
                     const Sketch<T> &sketch, T *out) {
    if (index_bytes == 4) {
        sketch.sparse(values, static_cast<const std::int32_t *>(indices), starts, rows, out);
    } else if (index_bytes == 8) {
        sketch.sparse(values, static_cast<const std::int64_t *>(indices), starts, rows, out);
    } else {
        for (size_t r = 0; r < rows; ++r) {
            const T *x = values + r * sketch.columns;
            sketch.row(Entries<T, std::int32_t>{x, nullptr, sketch.columns}, out + r * sketch.width);
        }
    }
}

// Projections are some outputs of H diag(complex signs) x, x padded to `size`: signs (block, degree, part, n).
template <class T>
void srht(const T *X, size_t rows, size_t n, const T *signs, size_t degree, size_t size, const std::int32_t *outputs,
          size_t width, T scale, T *out, T *scratch) {
    const size_t count = (width + 1) / 2;
    T *turned = scratch, *real = turned + 2 * size, *imaginary = real + count;
    T *next_real = imaginary + count, *next_imaginary = next_real + count;
    for (size_t row = 0; row < rows; ++row) {
        const T *x = X + row * n;
        for (size_t s = 0; s < degree; ++s) {
            T *a = s == 0 ? real : next_real, *b = s == 0 ? imaginary : next_imaginary;
            for (size_t first = 0; first < count; first += size) {
                const T *sign = signs + (first / size * degree + s) * 2 * n;
                for (size_t part = 0; part < 2; ++part) {
                    T *y = turned + part * size;
                    for (size_t i = 0; i < n; ++i) y[i] = x[i] * sign[part * n + i];
                    for (size_t i = n; i < size; ++i) y[i] = T(0);
                }
                hadamard_rows(turned, 2, size);
                const size_t last = first + size < count ? first + size : count;
                const std::int32_t *output = outputs + s * count;
                for (size_t i = first; i < last; ++i) {
                    a[i] = turned[output[i]];
                    b[i] = turned[size + output[i]];
                }
            }
            if (s > 0) multiply(real, imaginary, next_real, next_imaginary, count);
        }
        write_parts(real, imaginary, width, scale, out + row * width);
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_SKETCH(suffix, T)                                                                                      \
    void hadamard_sketch_##suffix(const T *values, const void *indices, size_t index_bytes,                           \
                                  const std::int64_t *starts, size_t rows, size_t columns,                            \
                                  const std::int32_t *places, const T *signs, size_t degree, size_t size, T constant, \
                                  T scale, size_t width, T *out, T *scratch) {                                        \
        const Sketch<T> sketch{columns, degree, size, width, places, signs, constant, scale, scratch};                \
        hadamard_sketch(values, indices, index_bytes, starts, rows, sketch, out);                                     \
    }                                                                                                                 \
    void srht_##suffix(const T *X, size_t rows, size_t n, const T *signs, size_t degree, size_t size,                \
                       const std::int32_t *outputs, size_t width, T scale, T *out, T *scratch) {                      \
        srht(X, rows, n, signs, degree, size, outputs, width, scale, out, scratch);                                   \
    }

MERCER_SKETCH(f32, float)
MERCER_SKETCH(f64, double)

}  // namespace mercer::MERCER_ISA
