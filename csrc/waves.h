// Cosines and sines of phases, as the features of Fourier maps.
//
// A phase is reduced to r in [-pi/4, pi/4] and a quadrant; sine and cosine of r are polynomials in r^2 (interpolated at
// Chebyshev nodes), within two units in the last place.  The reduction is exact up to the limit of the type; phases
// beyond it are for the caller to find out by the longest phase of a row, and to map in another way.
#pragma once

#include "isa.h"

#include <cstdint>
#include <utility>

namespace {

using std::size_t;

template <class T>
struct Circle;

template <>
struct Circle<float> {
    typedef std::int32_t integer;
    static constexpr float limit = 4096.0f;
    static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
    static constexpr float turns = 0x1.45f306dcp-1f;
    static constexpr float quarter[3] = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.4442d2p-24f};
    static constexpr float sine[3] = {-0.16666664661114838f, 0.008332748037517147f, -0.00019587840521305324f};
    static constexpr float cosine[3] = {0.04166666465830042f, -0.0013888302802309161f, 2.454789161981386e-05f};
};

template <>
struct Circle<double> {
    typedef std::int64_t integer;
    static constexpr double limit = 4194304.0;
    static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double turns = 0x1.45f306dc9c883p-1;
    static constexpr double quarter[3] = {0x1.921fb54p+0, 0x1.10b46118p-30, 0x1.313198a2e037p-61};
    static constexpr double sine[6] = {-0.16666666666666666,   0.008333333333330946,    -0.0001984126983675497,
                                       2.755731610068303e-06, -2.5051131455427946e-08, 1.591810123027412e-10};
    static constexpr double cosine[6] = {0.041666666666666664,    -0.0013888888888887395, 2.4801587298763433e-05,
                                         -2.7557317270560326e-07, 2.0876146024689747e-09, -1.1382614868556325e-11};
};

template <class T>
struct Wave {
    Vector<T> cosine, sine;
};

// As integers, which vectors of integers take their sign and parity from.
template <class T>
struct Quadrants {
    typedef typename Circle<T>::integer vector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
};

// Cosine and sine of r + quadrant pi/2, for r in [-pi/4, pi/4] and the low bits of the quadrant.
template <class T>
inline Wave<T> wave(Vector<T> r, typename Quadrants<T>::vector quadrant) {
    using C = Circle<T>;
    typedef typename Quadrants<T>::vector Bits;
    const Vector<T> z = r * r;
    const Bits sine = (Bits)(r + r * (z * polynomial<T>(z, C::sine)));
    const Bits cosine = (Bits)(T(1) - z * T(0.5) + (z * z) * polynomial<T>(z, C::cosine));
    // Odd quadrants swap the two; the sign bits follow from the second bit of the quadrant, and of the next one.
    constexpr int top = 8 * sizeof(T) - 1;
    const Bits odd = -(quadrant & 1);
    const Bits sine_sign = (quadrant & 2) << (top - 1), cosine_sign = ((quadrant + 1) & 2) << (top - 1);
    return {(Vector<T>)(((cosine & ~odd) | (sine & odd)) ^ cosine_sign),
            (Vector<T>)(((sine & ~odd) | (cosine & odd)) ^ sine_sign)};
}

template <class T>
inline Wave<T> wave(Vector<T> phase) {
    using C = Circle<T>;
    const Vector<T> shifted = phase * C::turns + C::round;
    const Vector<T> turns = shifted - C::round;
    const Vector<T> r = ((phase - turns * C::quarter[0]) - turns * C::quarter[1]) - turns * C::quarter[2];
    return wave<T>(r, (typename Quadrants<T>::vector)shifted);
}

template <class T>
inline Vector<T> magnitude(Vector<T> x) {
    return x < T(0) ? -x : x;
}

// The longest of some phases; a NaN among them makes it a NaN, which no later phase undoes.
template <class T>
struct Longest {
    Vector<T> value = {};

    void see(Vector<T> phase) {
        const Vector<T> length = magnitude<T>(phase);
        value = (length <= value) | (value != value) ? value : length;
    }

    T get() const {
        T longest = value[0];
        for (size_t i = 1; i < Simd<T>::lanes; ++i) {
            longest = value[i] <= longest || longest != longest ? longest : value[i];
        }
        return longest;
    }
};

// Features scale * (cos p_0, sin p_0, cos p_1, ...) of `count` phases.
template <class T>
inline void write_pairs(const T *phases, size_t count, T scale, T *out, Longest<T> &longest) {
    constexpr size_t lanes = Simd<T>::lanes;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const Vector<T> phase = load(phases + i);
        longest.see(phase);
        const Wave<T> w = wave<T>(phase);
        store_interleaved<T>(out + 2 * i, w.cosine * scale, w.sine * scale);
    }
    if (i < count) {
        T last[lanes] = {}, pairs[2 * lanes];
        __builtin_memcpy(last, phases + i, (count - i) * sizeof(T));
        write_pairs<T>(last, lanes, scale, pairs, longest);
        __builtin_memcpy(out + 2 * i, pairs, 2 * (count - i) * sizeof(T));
    }
}

// Features scale * cos(p_i + offset_i); offsets repeat with this period.
template <class T>
inline void write_singles(const T *phases, size_t count, const T *offset, size_t period, T scale, T *out,
                          Longest<T> &longest) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t i = 0; i < count; i += lanes) {
        const size_t filled = count - i < lanes ? count - i : lanes;
        T shifted[lanes] = {};
        for (size_t j = 0; j < filled; ++j) shifted[j] = phases[i + j] + offset[period == 1 ? 0 : i + j];
        const Vector<T> phase = load(shifted);
        longest.see(phase);
        store(shifted, wave<T>(phase).cosine * scale);
        __builtin_memcpy(out + i, shifted, filled * sizeof(T));
    }
}

// All features of a row: pairs, then those that stand alone.
template <class T>
inline T write_waves(const T *phases, size_t count, const T *offset, size_t period, size_t width, T scale, T *out) {
    Longest<T> longest;
    const size_t pairs = width - count;
    write_pairs<T>(phases, pairs, scale, out, longest);
    write_singles<T>(phases + pairs, count - pairs, offset, period, scale, out + 2 * pairs, longest);
    return longest.get();
}

}  // namespace
