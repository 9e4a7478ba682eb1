// Exponentials of numbers that are not positive, as kernels of a distance need them.
#pragma once

#include "isa.h"

#include <cstdint>

namespace {

typedef Vector<double> Numbers;
typedef std::int64_t Integers __attribute__((vector_size(MERCER_VECTOR_BYTES)));

// 2^n for integers in the low bits of 1.5 * 2^52 + n, n from -1022 to 1023.
inline Numbers power_of_two(Numbers shifted) { return (Numbers)((((Integers)shifted) + 1023) << 52); }

// exp(x) for x <= 0, accurate to one unit in the last place, subnormal results included; NaN stays NaN.
//
// x = n log 2 + r; exp(r) is 1 + r + r^2 P(r) with P interpolated at Chebyshev nodes.  Two powers of two, since one
// cannot reach the subnormal numbers.
inline Numbers exponential(Numbers x) {
    constexpr double round = 6755399441055744.0, inverse = 0x1.71547652b82fep+0;  // 1.5 * 2^52 and 1 / log 2
    constexpr double log_2[2] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};
    constexpr double series[10] = {0.5000000000000001,     0.16666666666666669,    0.041666666666623824,
                                   0.008333333333330039,   0.0013888888917367081,  0.00019841269863171557,
                                   2.4801521057868204e-05, 2.7557268276905696e-06, 2.7620201591031547e-07,
                                   2.5100472505694996e-08};
    x = x < -800.0 ? broadcast(-800.0) : x;
    const Numbers n = (x * inverse + round) - round;
    const Numbers r = (x - n * log_2[0]) - n * log_2[1];
    const Numbers fraction = 1.0 + (r + (r * r) * polynomial<double>(r, series));
    const Numbers half = (n * 0.5 + round);
    return (fraction * power_of_two(half)) * power_of_two((n - (half - round)) + round);
}

}  // namespace
