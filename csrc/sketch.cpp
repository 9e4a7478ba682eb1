// Sketches of powers of rows as products of complex projections, a row at a time, so that a row never leaves the cache.
#include "hadamard.h"
#include "rows.h"

namespace {

template <class T, class Index>
inline void add(T *buckets, const Entries<T, Index> &row, const std::int32_t *places, const T *signs) {
    for (size_t i = 0; i < row.count; ++i) {
        const size_t j = row.column(i);
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

// Features scale (Re z_0, Im z_0, Re z_1, ...); tells whether all are finite.
template <class T>
inline bool write_parts(const T *real, const T *imaginary, size_t width, T scale, T *out) {
    constexpr size_t lanes = Simd<T>::lanes;
    Finite<T> finite;
    size_t i = 0;
    for (; i + lanes <= width / 2; i += lanes) {
        const Vector<T> a = load(real + i) * scale, b = load(imaginary + i) * scale;
        finite.see(a);
        finite.see(b);
        store_interleaved<T>(out + 2 * i, a, b);
    }
    bool rest = true;
    for (size_t j = 2 * i; j < width; ++j) {
        out[j] = scale * (j % 2 ? imaginary : real)[j / 2];
        rest &= out[j] - out[j] == T(0);
    }
    return rest && finite.holds();
}

template <class T>
struct Sketch {
    size_t columns, degree, size, width;
    const std::int32_t *places;
    const T *signs;
    T constant, scale;
    T *scratch;

    template <class Index>
    bool row(const Entries<T, Index> &entries, T *out) const {
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
        return write_parts(real, imaginary, width, scale, out);
    }
};

// Projections are some outputs of H diag(complex signs) x, x padded to `size`: signs (block, degree, part, n).
template <class T>
size_t srht(const T *X, size_t rows, size_t n, const T *signs, size_t degree, size_t size, const std::int32_t *outputs,
            size_t width, T scale, T *out, size_t stride, T *scratch) {
    const size_t count = (width + 1) / 2;
    T *turned = scratch, *real = turned + 2 * size, *imaginary = real + count;
    T *next_real = imaginary + count, *next_imaginary = next_real + count;
    size_t finite = rows;
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
        const bool well = write_parts(real, imaginary, width, scale, out + row * stride);
        if (!well && finite == rows) finite = row;
    }
    return finite;
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_SKETCH(suffix, T)                                                                                      \
    size_t hadamard_sketch_##suffix(const T *values, const void *indices, size_t index_bytes,                         \
                                    const std::int64_t *starts, size_t rows, size_t columns,                          \
                                    const std::int32_t *places, const T *signs, size_t degree, size_t size,           \
                                    T constant, T scale, size_t width, T *out, T *scratch) {                          \
        const Sketch<T> sketch{columns, degree, size, width, places, signs, constant, scale, scratch};                \
        return Rows<T>{values, indices, index_bytes, starts, rows, columns}.each(                                     \
            [&](size_t r, auto entries) { return sketch.row(entries, out + r * width); });                            \
    }                                                                                                                 \
    size_t srht_##suffix(const T *X, size_t rows, size_t n, const T *signs, size_t degree, size_t size,               \
                         const std::int32_t *outputs, size_t width, T scale, T *out, size_t stride, T *scratch) {     \
        return srht(X, rows, n, signs, degree, size, outputs, width, scale, out, stride, scratch);                    \
    }

MERCER_SKETCH(f32, float)
MERCER_SKETCH(f64, double)

}  // namespace mercer::MERCER_ISA
