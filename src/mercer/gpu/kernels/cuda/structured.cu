// StructuredFourier: blocks of frequencies from three rounds of signs and transforms, then cosines and sines.
//
// One group of threads maps one row. The row stays in its registers, and each block of frequencies is made and stored
// without anything in between going to device memory.
#include "wave_blocks.cuh"

// flips: for every block, one word per thread with the signs of the first and the third round in layout 0, and of the
// second round in the last layout.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) structured(
    const float* X, long long row_step, int rows, int columns, const unsigned* flips, const float* radii, int count,
    const float* offset, float scale, float longest, float* Z, int width, unsigned char* lost) {
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
    for (int first = 0; first < count; first += G::SIZE, flips += 3 * G::THREADS) {
        const unsigned one = flips[t], two = flips[G::THREADS + t], three = flips[2 * G::THREADS + t];
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) v[r] = flipped(x[r], one, r);
        transform_up<BITS>(v, shared, t);
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) v[r] = flipped(v[r], two, r);
        transform_down<BITS>(v, shared, t);
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) v[r] = flipped(v[r], three, r);
        transform_up<BITS>(v, shared, t);
        if (row < rows) store_block<BITS>(waves, v, radii, first, count, offset, t);
    }
    if (row < rows && waves.lost) lost[row] = 1;
}
