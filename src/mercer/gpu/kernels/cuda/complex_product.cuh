// The product of complex projections of one row, and how it is stored.
#pragma once

#include "hadamard.cuh"

template <int LOG>
struct ComplexProduct {
    Values<LOG> real, imaginary;

    // Multiplies value r by a + bi; the first factor takes the place of what was there.
    __device__ void multiply(int r, float a, float b, bool first) {
        const float p = real[r], q = imaginary[r];
        real[r] = first ? a : p * a - q * b;
        imaginary[r] = first ? b : p * b + q * a;
    }

    // Stores all values as features 2 f and 2 f + 1 of a row, f counted from ``first``; tells whether they are finite.
    __device__ bool store(int first, float scale, float* out, int width, int t) const {
        using G = Group<LOG>;
        const bool whole = width % 2 == 0 && 2 * (first + G::SIZE) <= width;
        bool finite = true;
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            const int f = first + G::template element<G::LAST>(t, r);
            const float re = scale * real[r], im = scale * imaginary[r];
            if (whole) {
                reinterpret_cast<float2*>(out)[f] = make_float2(re, im);
            } else {
                if (2 * f < width) out[2 * f] = re;
                if (2 * f + 1 < width) out[2 * f + 1] = im;
            }
            finite &= 2 * f >= width || isfinite(re * 0.0f + im * 0.0f);
        }
        return finite;
    }
};
