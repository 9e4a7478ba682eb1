// Logarithms, as a power of two and the natural logarithm of the rest.
#pragma once

#include "isa.h"

#include <cstdint>

namespace {

// The bits of a positive number: `digits` bits of mantissa below the exponent.
template <class T>
struct Format;

template <>
struct Format<float> {
    typedef std::uint32_t integer;
    static constexpr int digits = 23;
    static constexpr integer one = 0x3f800000u, root_half = 0x3f3504f3u;
    static constexpr float smallest = 0x1p-126f, lift = 0x1p+24f, lifted = 24.0f;
    static constexpr integer round = 0x4b400000u;  // 1.5 * 2^23: an integer in its low bits is added to it
    static constexpr float logarithm[3] = {0.66666687f, 0.39988758f, 0.29580986f};
};

template <>
struct Format<double> {
    typedef std::uint64_t integer;
    static constexpr int digits = 52;
    static constexpr integer one = 0x3ff0000000000000u, root_half = 0x3fe6a09e667f3bcdu;
    static constexpr double smallest = 0x1p-1022, lift = 0x1p+54, lifted = 54.0;
    static constexpr integer round = 0x4338000000000000u;  // 1.5 * 2^52
    static constexpr double logarithm[7] = {0.666666666666667,   0.3999999999989889,  0.28571428626253836,
                                            0.22222211089379496, 0.1818289243253687,  0.15331611722055008,
                                            0.14617807153417325};
};

// log x = exponent log 2 + fraction, the exponent a whole number and the fraction between +-log(2) / 2.
template <class T>
struct Logarithm {
    Vector<T> exponent, fraction;
};

// The logarithm of positive finite numbers, subnormal ones included; the fraction is accurate to two units in the last
// place.
//
// With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - f^2 / 2 + s (f^2 / 2 + R), where R is a polynomial in s^2
// (interpolated at Chebyshev nodes): the terms with the largest relative error are the smallest.
template <class T>
inline Logarithm<T> logarithm(Vector<T> x) {
    using F = Format<T>;
    typedef typename F::integer Bits __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    const auto subnormal = x < F::smallest;
    const Bits bits = (Bits)(subnormal ? x * F::lift : x);
    // Counted from the bits of sqrt(1/2), the exponent changes where the mantissa leaves [sqrt(1/2), sqrt(2)).
    const Bits exponent = (bits + (F::one - F::root_half)) >> F::digits;
    const Vector<T> mantissa = (Vector<T>)(bits - (exponent << F::digits) + F::one);
    constexpr typename F::integer bias = F::one >> F::digits;
    const Vector<T> whole = (Vector<T>)(exponent + (F::round - bias)) - (Vector<T>)(Bits{} + F::round);
    const Vector<T> f = mantissa - T(1), s = f / (mantissa + T(1)), z = s * s, half = f * f * T(0.5);
    const Vector<T> fraction = f - (half - s * (half + z * polynomial<T>(z, F::logarithm)));
    return {whole - (subnormal ? broadcast(F::lifted) : Vector<T>{}), fraction};
}

}  // namespace
