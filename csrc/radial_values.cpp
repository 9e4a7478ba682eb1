// Kernels of the Euclidean distance between rows and packed landmarks: products, distances and the function of them,
// all while a block of values is in cache.  Unlike radial.cpp, it repairs no cancelled digits: the error of a squared
// distance is the rounding error of the squared norms, and the caller has checked that the kernel is wide enough.
#include "exponential.h"
#include "gemm.h"

namespace {

typedef Vector<float> Floats;
typedef std::int32_t FloatBits __attribute__((vector_size(MERCER_VECTOR_BYTES)));

// exp(x) for x <= 0, to about one unit in the last place; 0 below -87, where results would be subnormal.  The scheme
// is that of the function for double.
inline Floats exponential(Floats x) {
    constexpr float round = 12582912.0f, inverse = 0x1.715476p+0f;  // 1.5 * 2^23 and 1 / log 2
    constexpr float log_2[2] = {0x1.62e400p-1f, 0x1.7f7d1cp-20f};
    constexpr float series[5] = {0.5f, 0.16666576266288757f, 0.041666556149721146f, 0.008363178931176662f,
                                 0.0013926184037700295f};
    const Floats bounded = x < -87.0f ? broadcast(-87.0f) : x;
    const Floats shifted = bounded * inverse + round, n = shifted - round;
    const Floats r = (bounded - n * log_2[0]) - n * log_2[1];
    const Floats fraction = 1.0f + (r + (r * r) * polynomial<float>(r, series));
    const Floats value = fraction * (Floats)((((FloatBits)shifted) + 127) << 23);
    return x < -87.0f ? Floats{} : value;
}

template <class T>
struct GaussianOf {
    T gamma;
    Vector<T> operator()(Vector<T> square) const { return exponential(square * -gamma); }
};

// Matern's kernels of order 1/2, 3/2 and 5/2 in z: (1 + z linear + z^2 quadratic) exp(-z).
template <class T>
struct MaternOf {
    T inverse_length, linear, quadratic;
    Vector<T> operator()(Vector<T> square) const {
        const Vector<T> z = root<T>(square) * inverse_length;
        const Vector<T> bounded = z > T(1e6) ? broadcast(T(1e6)) : z;  // where all are 0, and no product overflows
        return (T(1) + bounded * (linear + bounded * quadratic)) * exponential(-bounded);
    }
};

// The function of the distances behind `count` inner products of a row of this squared norm.
template <class T, class Function>
MERCER_INLINE void write(const T *products, size_t count, T norm, const T *norms, Function function, T *out) {
    constexpr size_t lanes = Simd<T>::lanes;
    const auto value = [&](Vector<T> product, Vector<T> other) {
        const Vector<T> square = (norm + other) - T(2) * product;
        return function(square < T(0) ? Vector<T>{} : square);
    };
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) store<T>(out + i, value(load(products + i), load(norms + i)));
    if (i < count) {
        T last[2][lanes] = {};
        __builtin_memcpy(last[0], products + i, (count - i) * sizeof(T));
        __builtin_memcpy(last[1], norms + i, (count - i) * sizeof(T));
        store<T>(last[0], value(load(last[0]), load(last[1])));
        __builtin_memcpy(out + i, last[0], (count - i) * sizeof(T));
    }
}

template <class T, class Function>
void all_values(const T *X, size_t rows, size_t n, const T *norms_x, const T *panels, size_t others,
                const T *norms_y, Function function, T *out, T *scratch) {
    Gemm<T>::all(X, rows, n, panels, others, scratch, [&](size_t row, size_t first, size_t count, const T *products) {
        write<T>(products, count, norms_x[row], norms_y + first, function, out + row * others + first);
    });
}

template <class T>
void values_of(const T *X, size_t rows, size_t n, const T *norms_x, const T *panels, size_t others, const T *norms_y,
               size_t shape, T scale, T *out, T *scratch) {
    const auto with = [&](auto function) {
        all_values<T>(X, rows, n, norms_x, panels, others, norms_y, function, out, scratch);
    };
    switch (shape) {
        case 1: return with(GaussianOf<T>{scale});
        case 2: return with(MaternOf<T>{scale, T(0), T(0)});
        case 3: return with(MaternOf<T>{scale, T(1), T(0)});
        default: return with(MaternOf<T>{scale, T(1), T(1) / T(3)});
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_RADIAL_VALUES(suffix, T)                                                                            \
    void radial_values_##suffix(const T *X, size_t rows, size_t n, const T *norms_x, const T *panels, size_t others, \
                                const T *norms_y, size_t shape, T scale, T *out, T *scratch) {                     \
        values_of<T>(X, rows, n, norms_x, panels, others, norms_y, shape, scale, out, scratch);                    \
    }

MERCER_RADIAL_VALUES(f32, float)
MERCER_RADIAL_VALUES(f64, double)

}  // namespace mercer::MERCER_ISA
