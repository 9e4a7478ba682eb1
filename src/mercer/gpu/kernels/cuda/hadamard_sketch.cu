// HadamardSketch: the product over degrees of the transforms of complex count sketches.
//
// One group of threads maps one row. The places of a sketch are those of its real part, padded for layout 0, then those of
// its imaginary part.
#include "complex_product.cuh"
#include "count_sketch.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) hadamard_sketch(
    const float* X, long long row_step, int rows, int columns, float factor, float constant, int degree,
    const int* entries, const int* places, const int* starts, int turns, float scale, float* Z, int width,
    unsigned char* lost) {
    using G = Group<BITS>;
    extern __shared__ float memory[];
    const int t = threadIdx.x % G::THREADS, group = threadIdx.x / G::THREADS;
    float *reals = memory + group * 2 * G::SHARED, *imaginaries = reals + G::SHARED;
    const int row = blockIdx.x * G::PER_BLOCK + group, kept = row < rows ? row : rows - 1;
    const SketchEntries sketch{entries, places, starts, turns, columns, factor, constant};
    ComplexProduct<BITS> product;
    Values<BITS> a, b;
    for (int s = 0; s < degree; ++s) {
        sketch.template write<BITS>(s, X + kept * row_step, reals, t);
        read_shared<BITS, 0, 0>(a, reals, t);
        read_shared<BITS, 0, 0>(b, imaginaries, t);
        G::wait();
        transform_up<BITS>(a, b, reals, imaginaries, t);
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) product.multiply(r, a[r], b[r], s == 0);
    }
    if (row < rows && !product.store(0, scale, Z + (long long)row * width, width, t)) lost[row] = 1;
}
