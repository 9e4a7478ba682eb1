// Cosines and sines of phases that are given as a number of quarter turns and a remainder.
//
// Sine and cosine of the remainder, in [-pi/4, pi/4], are polynomials in its square (interpolated at Chebyshev nodes),
// accurate to two units in the last place.
#pragma once

#include "waves.h"

namespace {

template <class T>
struct Quarter;

template <>
struct Quarter<float> {
    typedef std::int32_t integer;
    static constexpr float round = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the low bits
    static constexpr float sine[3] = {-0.16666664661114838f, 0.008332748037517147f, -0.00019587840521305324f};
    static constexpr float cosine[3] = {0.04166666465830042f, -0.0013888302802309161f, 2.454789161981386e-05f};
};

template <>
struct Quarter<double> {
    typedef std::int64_t integer;
    static constexpr double round = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double sine[6] = {-0.16666666666666666,   0.008333333333330946,    -0.0001984126983675497,
                                       2.755731610068303e-06, -2.5051131455427946e-08, 1.591810123027412e-10};
    static constexpr double cosine[6] = {0.041666666666666664,    -0.0013888888888887395, 2.4801587298763433e-05,
                                         -2.7557317270560326e-07, 2.0876146024689747e-09, -1.1382614868556325e-11};
};

// Numbers of quarter turns as integers: their lowest bits give sign and parity.
template <class T>
struct Quadrants {
    typedef typename Quarter<T>::integer vector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
};

// Cosine and sine of r + quadrant pi/2 for r in [-pi/4, pi/4]; only the lowest bits of the quadrant matter.
template <class T>
inline Wave<T> wave(Vector<T> r, typename Quadrants<T>::vector quadrant) {
    using C = Quarter<T>;
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

}  // namespace
