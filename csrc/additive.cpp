// Additive maps: a value x becomes root(x) and root(x) (cos, sin)(j frequency log x), j = 1 ... order, each weighted.
//
// Phases are measured in quarter turns.  The exponent of x times the high digits of a frequency is exact, so that whole
// turns are subtracted without error, however long the phase is; what remains is small and keeps its digits.
#include "logarithm.h"
#include "quarter_turns.h"

#include <utility>

namespace {

constexpr double log_2 = 0x1.62e42fefa39efp-1, quarters = 0x1.45f306dc9c883p-1, quarter = 0x1.921fb54442d18p+0;
constexpr size_t most_unrolled = 3;

// A frequency in quarter turns: high + low is the frequency times log 2, slope the frequency itself.
template <class T>
struct Pace {
    T high, low, slope;

    explicit Pace(double frequency = 0.0) {
        // So few digits that a product with an exponent, of 8 or 11 digits, is exact.
        constexpr int dropped = sizeof(T) == 4 ? 52 - 15 : 52 - 41;
        const double pace = frequency * (quarters * log_2);
        std::uint64_t bits;
        __builtin_memcpy(&bits, &pace, sizeof bits);
        bits &= ~std::uint64_t(0) << dropped;
        double cut;
        __builtin_memcpy(&cut, &bits, sizeof cut);
        high = static_cast<T>(cut);
        low = static_cast<T>(pace - cut);
        slope = static_cast<T>(frequency * quarters);
    }
};

// Cosine and sine of a frequency times a logarithm; one of the two is a number, the other a vector.
template <class T, class Paces, class Parts>
inline Wave<T> wave_of(const Paces &high, const Paces &low, const Paces &slope, const Parts &exponent,
                       const Parts &fraction) {
    using C = Circle<T>;
    typedef typename Quadrants<T>::vector Bits;
    const Vector<T> turns = exponent * high;
    const Vector<T> whole = turns + C::round;
    const Vector<T> rest = (turns - (whole - C::round)) + (exponent * low + fraction * slope);
    const Vector<T> further = rest + C::round;
    return wave<T>((rest - (further - C::round)) * T(quarter), (Bits)whole + (Bits)further);
}

// Whether all values seen are finite and not negative: a NaN is neither.
template <class T>
struct Domain {
    Finite<T> finite;
    Vector<T> least = {};

    void see(Vector<T> x) {
        finite.see(x);
        least = x < least ? x : least;
    }

    bool holds() const {
        bool all = finite.holds();
        for (size_t i = 0; i < Simd<T>::lanes; ++i) all &= least[i] == T(0);
        return all;
    }
};

template <class T>
size_t first_outside(const T *values, size_t count) {
    size_t i = 0;
    while (i < count && values[i] >= T(0) && values[i] - values[i] == T(0)) ++i;
    return i;
}

// The logarithm of positive numbers, and 0 for 0.
template <class T>
inline Logarithm<T> logarithm_or_0(Vector<T> x) {
    return logarithm<T>(x > T(0) ? x : broadcast(T(1)));
}

// Register k of the sequence v_0[0], v_1[0], ..., v_0[1], v_1[1], ..., in which the numbers of all registers alternate.
template <class T, size_t k, size_t width, size_t next = 0, size_t... lane>
inline Vector<T> interleaved(const Vector<T> (&v)[width], Vector<T> some, std::index_sequence<lane...> lanes) {
    constexpr size_t count = sizeof...(lane), first = k * count;
    if constexpr (next == width) {
        return some;
    } else {
        const Vector<T> more = __builtin_shufflevector(
            some, v[next],
            (next == 0 || (first + lane) % width == next ? count + (first + lane) / width : lane)...);
        return interleaved<T, k, width, next + 1>(v, more, lanes);
    }
}

template <class T, size_t width, size_t... k>
inline void store_interleaved(T *out, const Vector<T> (&v)[width], std::index_sequence<k...>) {
    constexpr size_t lanes = Simd<T>::lanes;
    (store(out + k * lanes, interleaved<T, k, width>(v, v[0], std::make_index_sequence<lanes>{})), ...);
}

// The features of few frequencies, for a register of values at a time; rotations make the multiples of the frequency.
template <class T, size_t order>
struct ByValues {
    static constexpr size_t width = 2 * order + 1, lanes = Simd<T>::lanes;
    Pace<T> pace;
    T weights[width];

    ByValues(const double *frequencies, const double *wide) : pace(order > 0 ? frequencies[0] : 0.0) {
        for (size_t i = 0; i < width; ++i) weights[i] = static_cast<T>(wide[i]);
    }

    void write_register(Vector<T> x, T *out) const {
        const Vector<T> length = root<T>(x);
        Vector<T> features[width];
        features[0] = length * weights[0];
        if constexpr (order > 0) {
            const Logarithm<T> l = logarithm_or_0<T>(x);
            const Wave<T> first = wave_of<T>(pace.high, pace.low, pace.slope, l.exponent, l.fraction);
            Wave<T> w = first;
#pragma GCC unroll 3
            for (size_t j = 0; j < order; ++j) {
                if (j > 0) {
                    w = {w.cosine * first.cosine - w.sine * first.sine, w.cosine * first.sine + w.sine * first.cosine};
                }
                features[2 * j + 1] = w.cosine * (length * weights[2 * j + 1]);
                features[2 * j + 2] = w.sine * (length * weights[2 * j + 2]);
            }
        }
        store_interleaved<T>(out, features, std::make_index_sequence<width>{});
    }

    bool write(const T *values, size_t count, T *out) const {
        Domain<T> domain;
        size_t i = 0;
        for (; i + lanes <= count; i += lanes) {
            const Vector<T> x = load(values + i);
            domain.see(x);
            write_register(x, out + i * width);
        }
        if (i < count) {
            T last[lanes] = {}, features[lanes * width];
            __builtin_memcpy(last, values + i, (count - i) * sizeof(T));
            domain.see(load(last));
            write_register(load(last), features);
            __builtin_memcpy(out + i * width, features, (count - i) * width * sizeof(T));
        }
        return domain.holds();
    }
};

// The columns of features: column c becomes c width, ..., c width + width - 1.  A register of columns at once, moved as
// numbers of their size.
template <class T, size_t width>
void spread_columns(const typename Format<T>::integer *columns, size_t count, typename Format<T>::integer *out) {
    typedef typename Format<T>::integer Index;
    typedef Index Indices __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    constexpr size_t lanes = Simd<T>::lanes;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        Indices first;
        __builtin_memcpy(&first, columns + i, sizeof first);
        first *= static_cast<Index>(width);
        Vector<T> places[width];
        for (size_t k = 0; k < width; ++k) places[k] = (Vector<T>)(first + static_cast<Index>(k));
        T features[lanes * width];
        store_interleaved<T>(features, places, std::make_index_sequence<width>{});
        __builtin_memcpy(out + i * width, features, sizeof features);
    }
    for (; i < count; ++i) {
        for (size_t k = 0; k < width; ++k) out[i * width + k] = static_cast<Index>(columns[i] * width + k);
    }
}

template <class T, size_t order = 0>
void spread(const typename Format<T>::integer *columns, size_t count, size_t width,
            typename Format<T>::integer *out) {
    if constexpr (order > most_unrolled) {
        for (size_t i = 0; i < count; ++i) {
            for (size_t k = 0; k < width; ++k) {
                out[i * width + k] = static_cast<typename Format<T>::integer>(columns[i] * width + k);
            }
        }
    } else {
        if (width == 2 * order + 1) return spread_columns<T, 2 * order + 1>(columns, count, out);
        spread<T, order + 1>(columns, count, width, out);
    }
}

// Stores a register of doubles in the precision of the features.
inline void store_as(double *out, const Vector<double> &value) { store(out, value); }
inline void store_as(float *out, const Vector<double> &value) {
    typedef float Half __attribute__((vector_size(MERCER_VECTOR_BYTES / 2)));
    const Half narrow = __builtin_convertvector(value, Half);
    __builtin_memcpy(out, &narrow, sizeof narrow);
}

// The features of any number of frequencies, a register of them at a time, value by value and always in double
// precision, because a high frequency makes the last digits of a logarithm matter.
struct ByFrequencies {
    typedef Vector<double> Numbers;
    static constexpr size_t lanes = Simd<double>::lanes;
    size_t order;
    const double *weights;
    Numbers high, low, slope;

    ByFrequencies(const double *frequencies, size_t order, const double *weights) : order(order), weights(weights) {
        for (size_t j = 0; j < lanes; ++j) {
            const Pace<double> pace(static_cast<double>(j + 1) * (order > 0 ? frequencies[0] : 0.0));
            high[j] = pace.high, low[j] = pace.low, slope[j] = pace.slope;
        }
    }

    template <class T>
    void value(double length, double exponent, double fraction, T *out) const {
        Wave<double> w = wave_of<double>(high, low, slope, exponent, fraction);
        const double cosine = w.cosine[lanes - 1], sine = w.sine[lanes - 1];
        double pairs[2 * lanes];
        out[0] = static_cast<T>(length * weights[0]);
        for (size_t j = 0; j < order; j += lanes) {
            T *to = out + 1 + 2 * j;
            const double *weight = weights + 1 + 2 * j;
            store_interleaved<double>(pairs, w.cosine, w.sine);
            if (j + lanes <= order) {
                store_as(to, load(pairs) * (length * load(weight)));
                store_as(to + lanes, load(pairs + lanes) * (length * load(weight + lanes)));
            } else {
                for (size_t i = 0; i < 2 * (order - j); ++i) to[i] = static_cast<T>(pairs[i] * (length * weight[i]));
            }
            w = {w.cosine * cosine - w.sine * sine, w.cosine * sine + w.sine * cosine};
        }
    }

    template <class T>
    bool write(const T *values, size_t count, T *out) const {
        Domain<double> domain;
        const size_t width = 2 * order + 1;
        for (size_t first = 0; first < count; first += lanes) {
            const size_t filled = count - first < lanes ? count - first : lanes;
            Numbers x = {};
            for (size_t i = 0; i < filled; ++i) x[i] = values[first + i];
            domain.see(x);
            const Numbers length = root<double>(x);
            const Logarithm<double> l = logarithm_or_0<double>(x);
            for (size_t i = 0; i < filled; ++i) {
                value(length[i], l.exponent[i], l.fraction[i], out + (first + i) * width);
            }
        }
        return domain.holds();
    }
};

template <class T, size_t order = 0>
bool additive(const T *values, size_t count, const double *frequencies, size_t wanted, const double *weights, T *out) {
    if constexpr (order > most_unrolled) {
        return ByFrequencies(frequencies, wanted, weights).write(values, count, out);
    } else {
        if (order == wanted) return ByValues<T, order>(frequencies, weights).write(values, count, out);
        return additive<T, order + 1>(values, count, frequencies, wanted, weights, out);
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_ADDITIVE(suffix, T)                                                                            \
    size_t additive_##suffix(const T *values, size_t count, const double *frequencies, size_t order,          \
                             const double *weights, T *out) {                                                 \
        if (additive<T>(values, count, frequencies, order, weights, out)) return count;                       \
        return first_outside(values, count);                                                                  \
    }

MERCER_ADDITIVE(f32, float)
MERCER_ADDITIVE(f64, double)

void spread_f32(const uint32_t *columns, size_t count, size_t width, uint32_t *out) {
    spread<float>(columns, count, width, out);
}
void spread_f64(const uint64_t *columns, size_t count, size_t width, uint64_t *out) {
    spread<double>(columns, count, width, out);
}

}  // namespace mercer::MERCER_ISA
