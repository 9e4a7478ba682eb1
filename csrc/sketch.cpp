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

// A complex number in two neighbours: gathering those costs one move each.
template <class T>
struct Pair {
    T re, im;
};

// y = (x_0 s_0, x_0 s_1, x_1 s_2, x_1 s_3, ...) for n numbers x, zeros up to 2 size.
template <class T>
inline void spread(const T *x, const T *s, size_t n, size_t size, T *y) {
    constexpr size_t lanes = Simd<T>::lanes;
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const Interleaved<T> both = interleave<T>(load(x + i), load(x + i));
        store(y + 2 * i, both.low * load(s + 2 * i));
        store(y + 2 * i + lanes, both.high * load(s + 2 * i + lanes));
    }
    for (size_t j = 2 * i; j < 2 * n; ++j) y[j] = x[j / 2] * s[j];
    for (size_t j = 2 * n; j < 2 * size; ++j) y[j] = T(0);
}

template <class T, size_t... lane>
inline Vector<T> product_of_pairs(Vector<T> z, Vector<T> w, std::index_sequence<lane...>) {
    constexpr Vector<T> signs = {(lane & 1 ? T(1) : T(-1))...};
    const Vector<T> real = __builtin_shufflevector(w, w, (lane & ~size_t(1))...);
    const Vector<T> imaginary = __builtin_shufflevector(w, w, (lane | 1)...);
    return z * real + signs * __builtin_shufflevector(z, z, (lane ^ 1)...) * imaginary;
}

// z becomes z w for complex numbers in pairs, `length` reals in all, a multiple of the lanes.
template <class T>
inline void multiply_pairs(T *z, const T *w, size_t length) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t i = 0; i < length; i += lanes) {
        store(z + i, product_of_pairs<T>(load(z + i), load(w + i), std::make_index_sequence<lanes>{}));
    }
}

// out = scale * z; tells whether all are finite.
template <class T>
inline bool write_scaled(const T *z, size_t width, T scale, T *out) {
    constexpr size_t lanes = Simd<T>::lanes;
    Finite<T> finite;
    size_t i = 0;
    for (; i + lanes <= width; i += lanes) {
        const Vector<T> value = load(z + i) * scale;
        finite.see(value);
        store(out + i, value);
    }
    bool rest = true;
    for (; i < width; ++i) {
        out[i] = scale * z[i];
        rest &= out[i] - out[i] == T(0);
    }
    return rest && finite.holds();
}

// Projections are some outputs of H diag(complex signs) x, x padded to `size`: signs (block, degree, n, 2).
//
// Real and imaginary parts are neighbours, and the transform goes over both at once: its first stage makes sum and
// difference of the two, which signs (re + im) / 2 and (re - im) / 2 turn back into the parts.
template <class T>
size_t srht(const T *X, size_t rows, size_t n, const T *signs, size_t degree, size_t size, const std::int32_t *outputs,
            size_t width, T scale, T *out, size_t stride, T *scratch) {
    constexpr size_t lanes = Simd<T>::lanes;
    const size_t count = (width + 1) / 2, length = (2 * count + lanes - 1) / lanes * lanes;
    T *turned = scratch, *z = turned + 2 * size, *next = z + length;
    for (size_t i = 2 * count; i < length; ++i) z[i] = next[i] = T(0);
    const Pair<T> *from = reinterpret_cast<const Pair<T> *>(turned);
    size_t finite = rows;
    for (size_t row = 0; row < rows; ++row) {
        for (size_t s = 0; s < degree; ++s) {
            Pair<T> *to = reinterpret_cast<Pair<T> *>(s == 0 ? z : next);
            for (size_t first = 0; first < count; first += size) {
                spread(X + row * n, signs + (first / size * degree + s) * 2 * n, n, size, turned);
                hadamard_rows(turned, 1, 2 * size);
                const size_t last = first + size < count ? first + size : count;
                const std::int32_t *output = outputs + s * count;
                for (size_t i = first; i < last; ++i) to[i] = from[output[i]];
            }
            if (s > 0) multiply_pairs(z, next, length);
        }
        const bool well = write_scaled(z, width, scale, out + row * stride);
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
