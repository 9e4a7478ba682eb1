// Fourier features of blocks of frequencies whose phases come out of a transform.
#pragma once

#include "hadamard.cuh"
#include "waves.cuh"

// The features of one block of frequencies, whose phases are values times radii.
template <int LOG>
__device__ void store_block(
    WaveRow& waves, const Values<LOG>& v, const float* radii, int first, int count, const float* offsets, int t) {
    using G = Group<LOG>;
    if (waves.are_pairs(first + G::SIZE)) {
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            const int f = first + G::template element<G::LAST>(t, r);
            waves.store_pair(f, v[r] * radii[f]);
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < G::VALUES; ++r) {
        const int f = first + G::template element<G::LAST>(t, r);
        if (f < count) waves.store(f, v[r] * radii[f], offsets);
    }
}
