// Fastfood: blocks of frequencies from signs, a transform, a permutation, a diagonal and another transform.
#include "wave_blocks.cuh"

// flips: for every block, one word per thread with its signs in layout 0. orders, directions: for every block, the
// entries of its elements in layout 0, those of one register side by side, so that threads read neighbouring ones.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) fastfood(
    const float* X, long long row_step, int rows, int columns, const unsigned* flips, const int* orders,
    const float* directions, const float* radii, int count, const float* offset, float scale, float longest, float* Z,
    int width, unsigned char* lost) {
    using G = Group<BITS>;
    extern __shared__ float memory[];
    const int t = threadIdx.x % G::THREADS, group = threadIdx.x / G::THREADS;
    float* shared = memory + group * G::SHARED;
    const int row = blockIdx.x * G::PER_BLOCK + group, kept = row < rows ? row : rows - 1;
    Values<BITS> x, v;
    load_row<BITS>(X + kept * row_step, columns, 1.0f, 0.0f, shared, t);
    read_shared<BITS, 0, 0>(x, shared, t);
    G::wait();
    WaveRow waves{Z + (long long)kept * width, width - count, scale, longest, width % 2 == 0};
    for (int first = 0; first < count; first += G::SIZE, flips += G::THREADS) {
        const unsigned signs = flips[t];
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) v[r] = flipped(x[r], signs, r);
        transform_up<BITS>(v, shared, t);
        publish<BITS>(v, shared, t);
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            const int place = first + r * G::THREADS + t;
            v[r] = shared[orders[place]] * directions[place];
        }
        G::wait();
        transform_up<BITS>(v, shared, t);
        if (row < rows) store_block<BITS>(waves, v, radii, first, count, offset, t);
    }
    if (row < rows && waves.lost) lost[row] = 1;
}
