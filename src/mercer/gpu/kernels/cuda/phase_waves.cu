// Cosines and sines behind a product of matrices: the phases of a tile, which are still in the cache, become features.
#include "waves.cuh"

// One block of threads maps one row of phases.
extern "C" __global__ void phase_waves(
    const float* phases, int count, const float* offsets, float scale, float longest, float* Z, int width,
    unsigned char* lost) {
    const long long row = blockIdx.x;
    const float* mine = phases + row * count;
    WaveRow waves{Z + row * width, width - count, scale, longest, width % 2 == 0};
    if (waves.are_pairs(count)) {
        for (int f = threadIdx.x; f < count; f += blockDim.x) waves.store_pair(f, mine[f]);
    } else {
        for (int f = threadIdx.x; f < count; f += blockDim.x) waves.store(f, mine[f], offsets);
    }
    if (waves.lost) lost[row] = 1;
}
