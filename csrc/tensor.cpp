// Tensor sketches: the product of the Fourier transforms of count sketches, for one group of rows after the other.
//
// A real row of even width D is transformed as D / 2 complex numbers.  Two of these at a time give the spectrum of the
// real row, which is multiplied into the product at once.  The product is kept in the order of the
// features: X_0, Re X_1, Im X_1, Re X_2, ..., X_{D/2}.
#include "fft.h"
#include "transpose.h"

namespace {

template <class T>
Rows<T> rows_of(const mercer_rows &rows, size_t count) {
    return {static_cast<const T *>(rows.values), rows.indices, rows.index_bytes, rows.starts, count, rows.columns};
}

template <class T>
struct TensorSketch {
    static constexpr size_t lanes = Simd<T>::lanes;

    size_t degree, width;
    const std::int32_t *places;
    const T *signs;
    size_t stride;  // from the hashes of a factor to those of the next
    Fourier<T> plan;
    const T *halves;  // -i exp(-2 pi i k / D) / 2 for k up to D / 4

    T *sketch, *product, *gathered;  // D, D and the widest factor's registers

    // The count sketches of `count` rows of a factor, from `first` on.
    void hash(const mercer_rows &factor, size_t s, size_t first, size_t count, bool gather) const {
        for (size_t i = 0; i < width; ++i) store(sketch + i * lanes, Vector<T>{});
        const std::int32_t *place = places + s * stride;
        const T *sign = signs + s * stride;
        if (factor.index_bytes == 0) {
            const T *X = static_cast<const T *>(factor.values) + first * factor.columns;
            if (gather) gather_rows(X, count, factor.columns, gathered);
            for (size_t j = 0; j < factor.columns; ++j) {
                T *bucket = sketch + static_cast<size_t>(place[j]) * lanes;
                store(bucket, load(bucket) + load(gathered + j * lanes) * sign[j]);
            }
        } else {
            Rows<T> rows = rows_of<T>(factor, count);
            rows.starts += first;
            rows.each([&](size_t lane, auto entries) {
                for (size_t i = 0; i < entries.count; ++i) {
                    const size_t j = entries.column(i);
                    sketch[static_cast<size_t>(place[j]) * lanes + lane] += sign[j] * entries.values[i];
                }
                return true;
            });
        }
        T *bucket = sketch + static_cast<size_t>(place[factor.columns]) * lanes;
        store(bucket, load(bucket) + sign[factor.columns] * static_cast<T>(factor.constant));
    }

    Complex<T> at(size_t k) const { return {load(product + (2 * k - 1) * lanes), load(product + 2 * k * lanes)}; }
    void put(size_t k, Complex<T> value) const {
        store(product + (2 * k - 1) * lanes, value.re);
        store(product + 2 * k * lanes, value.im);
    }

    // Multiplies the product by the spectrum of the sketch, which was transformed as complex numbers.
    template <bool initial>
    void multiply() const {
        const size_t h = width / 2;
        const auto join = [&](size_t k, Complex<T> value) { put(k, initial ? value : at(k) * value); };
        const Complex<T> ends = load_complex(sketch, 0);
        T *last = product + (width - 1) * lanes;
        store(product, initial ? ends.re + ends.im : load(product) * (ends.re + ends.im));
        store(last, initial ? ends.re - ends.im : load(last) * (ends.re - ends.im));
        for (size_t k = 1; 2 * k < h; ++k) {
            const Complex<T> a = load_complex(sketch, static_cast<size_t>(plan.order[k]));
            const Complex<T> b = conjugate(load_complex(sketch, static_cast<size_t>(plan.order[h - k])));
            const Complex<T> even = (a + b) * T(0.5), odd = turned(a - b, halves + 2 * k);
            join(k, even + odd);
            join(h - k, conjugate(even - odd));
        }
        if (h % 2 == 0) join(h / 2, conjugate(load_complex(sketch, static_cast<size_t>(plan.order[h / 2]))));
    }

    // Replaces the sketch by the rows whose spectrum is the product, times D / 2.
    void invert() const {
        const size_t h = width / 2;
        const Vector<T> first = load(product), last = load(product + (width - 1) * lanes);
        store_complex(sketch, 0, Complex<T>{(first + last) * T(0.5), (first - last) * T(0.5)});
        for (size_t k = 1; 2 * k < h; ++k) {
            const Complex<T> a = at(k), b = conjugate(at(h - k));
            const T turn[2] = {halves[2 * k], -halves[2 * k + 1]};
            const Complex<T> even = (a + b) * T(0.5), odd = turned(a - b, turn);
            store_complex(sketch, static_cast<size_t>(plan.order[k]), even + odd);
            store_complex(sketch, static_cast<size_t>(plan.order[h - k]), conjugate(even - odd));
        }
        if (h % 2 == 0) store_complex(sketch, static_cast<size_t>(plan.order[h / 2]), conjugate(at(h / 2)));
        backward(plan, sketch);
    }

    size_t group(const mercer_rows *factors, size_t first, size_t count, bool in_time, T scale, T *out) const {
        for (size_t s = 0; s < degree; ++s) {
            hash(factors[s], s, first, count, s == 0 || factors[s].values != factors[s - 1].values);
            forward(plan, sketch);
            if (s == 0) {
                multiply<true>();
            } else {
                multiply<false>();
            }
        }
        if (in_time) {
            invert();
            return scatter_rows(sketch, count, width, scale, out);
        }
        constexpr T half_root = T(0.70710678118654752440);  // the two real frequencies stand for themselves alone
        T *last = product + (width - 1) * lanes;
        store(product, load(product) * half_root);
        store(last, load(last) * half_root);
        return scatter_rows(product, count, width, scale, out);
    }

    size_t all(const mercer_rows *factors, size_t rows, bool in_time, T scale, T *out) const {
        size_t finite = rows;
        for (size_t first = 0; first < rows; first += lanes) {
            const size_t count = rows - first < lanes ? rows - first : lanes;
            const size_t well = group(factors, first, count, in_time, scale, out + first * width);
            if (well < count && finite == rows) finite = first + well;
        }
        return finite;
    }
};

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_TENSOR(suffix, T)                                                                                      \
    size_t tensor_sketch_##suffix(const mercer_rows *factors, size_t degree, size_t rows, const std::int32_t *places, \
                                  const T *signs, size_t stride, size_t width, const std::int32_t *radices,           \
                                  const T *turns, const T *halves, const std::int32_t *order, size_t in_time,         \
                                  T scale, T *out, T *scratch) {                                                      \
        const size_t registers = width * Simd<T>::lanes;                                                              \
        const TensorSketch<T> sketch{degree,  width,                               places, signs,   stride,           \
                                     {width / 2, radices, turns, order}, halves, scratch, scratch + registers,        \
                                     scratch + 2 * registers};                                                        \
        return sketch.all(factors, rows, in_time != 0, scale, out);                                                   \
    }

MERCER_TENSOR(f32, float)
MERCER_TENSOR(f64, double)

}  // namespace mercer::MERCER_ISA
