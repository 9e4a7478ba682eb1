// Cosines and sines of phases, as the features of Fourier maps.
//
// A phase is reduced by half turns to r in [-pi/2, pi/2].  Sine and cosine of r are minimax polynomials in r^2, and
// both change sign with every half turn; with quarter turns they would have to be swapped as well.  The error is below
// 1.5 eps times the scale.  The reduction of radians is exact up to the limit of the type; the caller recognises phases
// beyond it by the longest phase of a row, and maps that row in another way.  Phases that a kernel computes itself may
// be in half turns, whose reduction is a subtraction.
#pragma once

#include "isa.h"

#include <cstdint>

namespace {

using std::size_t;

template <class T>
struct Circle;

template <>
struct Circle<float> {
    typedef std::int32_t integer;
    static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
    static constexpr float half[3] = {0x1.92p+1f, 0x1.fb4p-11f, 0x1.4442d2p-23f};
    static constexpr double sine[4] = {-0.16666657093, 0.0083330171973, -0.00019806608261, 2.60003923e-06};
    static constexpr double cosine[5] = {-0.5, 0.041666655769, -0.0013888569066, 2.476929784e-05, -2.6193681213e-07};
};

template <>
struct Circle<double> {
    typedef std::int64_t integer;
    static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double half[3] = {0x1.921fb54p+1, 0x1.10b46118p-29, 0x1.313198a2e037p-60};
    static constexpr double sine[8] = {-0.166666666666666645,    0.00833333333333311385, -0.000198412698411859118,
                                       2.75573192077789905e-06,  -2.50521066059371711e-08, 1.60589278021447829e-10,
                                       -7.64271205007099656e-13, 2.71848723629528002e-15};
    static constexpr double cosine[8] = {-0.5,                    0.0416666666666658324,    -0.0013888888888830019,
                                         2.48015872857770513e-05, -2.75573170677528843e-07, 2.08765925486430388e-09,
                                         -1.1463634161526218e-11, 4.61612032782542883e-14};
};

constexpr double pi = 0x1.921fb54442d18p+1;

template <class T>
struct Bits {
    typedef typename Circle<T>::integer vector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
};

// A phase minus whole half turns; the last bit of `half_turns` says whether their number was odd.
template <class T>
struct Reduced {
    Vector<T> rest, half_turns;
};

template <class T>
MERCER_INLINE Reduced<T> reduced_radians(Vector<T> phase) {
    using C = Circle<T>;
    const Vector<T> shifted = phase * T(1.0 / pi) + C::round;
    const Vector<T> count = shifted - C::round;
    return {((phase - count * C::half[0]) - count * C::half[1]) - count * C::half[2], shifted};
}

template <class T>
MERCER_INLINE Reduced<T> reduced_half_turns(Vector<T> phase) {
    const Vector<T> shifted = phase + Circle<T>::round;
    return {phase - (shifted - Circle<T>::round), shifted};
}

template <class T>
struct Wave {
    Vector<T> cosine, sine;
};

// scale cos and scale sin of reduced phases in radians (unit 1) or half turns (unit pi); scale and unit are folded into
// the coefficients.
template <class T>
class Waves {
    static constexpr size_t sines = sizeof Circle<T>::sine / sizeof(double) + 1;
    static constexpr size_t cosines = sizeof Circle<T>::cosine / sizeof(double) + 1;
    T sine[sines], cosine[cosines];

   public:
    Waves(T scale, double unit) {
        sine[0] = T(scale * unit);
        cosine[0] = scale;
        double power = scale;
        for (size_t i = 1; i < cosines; ++i) {
            power *= unit * unit;
            cosine[i] = T(Circle<T>::cosine[i - 1] * power);
            if (i < sines) sine[i] = T(Circle<T>::sine[i - 1] * power * unit);
        }
    }

    MERCER_INLINE Wave<T> operator()(const Reduced<T> &phase) const {
        typedef typename Bits<T>::vector B;
        const Vector<T> z = phase.rest * phase.rest;
        const B odd = (B)phase.half_turns << (8 * sizeof(T) - 1);
        return {(Vector<T>)((B)polynomial<T>(z, cosine) ^ odd),
                (Vector<T>)((B)(polynomial<T>(z, sine) * phase.rest) ^ odd)};
    }
};

// The longest of several phases.  NaN counts as longer than any number, as it does if bit patterns are compared.
template <class T>
class Longest {
    typedef typename Circle<T>::integer Integer;
    typedef typename Bits<T>::vector B;
    B value = {};

   public:
    MERCER_INLINE void see(Vector<T> phase) {
        const B length = (B)phase & static_cast<Integer>(~(std::uint64_t(1) << (8 * sizeof(T) - 1)));
        value = length > value ? length : value;
    }

    T get() const {
        Integer longest = value[0];
        for (size_t i = 1; i < Simd<T>::lanes; ++i) longest = value[i] > longest ? value[i] : longest;
        T length;
        __builtin_memcpy(&length, &longest, sizeof length);
        return length;
    }
};

// The longest phase of a row so far; NaN stays NaN.
template <class T>
inline T longer(T before, T now) {
    return now <= before || before != before ? before : now;
}

// Features scale * (cos p_0, sin p_0, cos p_1, ...) of `count` phases.
template <class T>
inline void write_pairs(const T *phases, size_t count, const Waves<T> &waves, T *out, Longest<T> &longest) {
    constexpr size_t lanes = Simd<T>::lanes;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const Vector<T> phase = load(phases + i);
        longest.see(phase);
        const Wave<T> w = waves(reduced_radians<T>(phase));
        store_interleaved<T>(out + 2 * i, w.cosine, w.sine);
    }
    if (i < count) {
        T last[lanes] = {}, pairs[2 * lanes];
        __builtin_memcpy(last, phases + i, (count - i) * sizeof(T));
        write_pairs<T>(last, lanes, waves, pairs, longest);
        __builtin_memcpy(out + 2 * i, pairs, 2 * (count - i) * sizeof(T));
    }
}

// Features scale * cos(p_i + offset_i); the offsets repeat with this period.
template <class T>
inline void write_singles(const T *phases, size_t count, const T *offset, size_t period, const Waves<T> &waves, T *out,
                          Longest<T> &longest) {
    constexpr size_t lanes = Simd<T>::lanes;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const Vector<T> phase = load(phases + i) + (period == 1 ? Vector<T>{} + offset[0] : load(offset + i));
        longest.see(phase);
        store(out + i, waves(reduced_radians<T>(phase)).cosine);
    }
    if (i < count) {
        T last[lanes] = {}, offsets[lanes] = {};
        __builtin_memcpy(last, phases + i, (count - i) * sizeof(T));
        for (size_t j = 0; i + j < count; ++j) offsets[j] = offset[period == 1 ? 0 : i + j];
        write_singles<T>(last, lanes, offsets, lanes, waves, last, longest);
        __builtin_memcpy(out + i, last, (count - i) * sizeof(T));
    }
}

// All features of a row: the pairs, then the single ones.
template <class T>
inline T write_waves(const T *phases, size_t count, const T *offset, size_t period, size_t width, T scale, T *out) {
    const Waves<T> waves(scale, 1.0);
    Longest<T> longest;
    const size_t pairs = width - count;
    write_pairs<T>(phases, pairs, waves, out, longest);
    write_singles<T>(phases + pairs, count - pairs, offset, period, waves, out + 2 * pairs, longest);
    return longest.get();
}

}  // namespace
