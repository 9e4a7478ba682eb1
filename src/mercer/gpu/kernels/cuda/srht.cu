// ComplexSketch with structured projections: the product over degrees of outputs of transforms of rows with complex signs.
//
// One group of threads maps one row, one block of features after the other.
#include "complex_product.cuh"

// negative, odd: for every block and degree, one word per thread with the signs of its columns in layout 0, and with the
// columns that go to the imaginary part. outputs: for every degree, the output of its transform that a feature takes.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) srht(
    const float* X, long long row_step, int rows, int columns, float factor, float constant, int degree, int features,
    const unsigned* negative, const unsigned* odd, const int* outputs, float scale, float* Z, int width,
    unsigned char* lost) {
    using G = Group<BITS>;
    extern __shared__ float memory[];
    const int t = threadIdx.x % G::THREADS, group = threadIdx.x / G::THREADS;
    float *x = memory + group * 3 * G::SHARED, *reals = x + G::SHARED, *imaginaries = reals + G::SHARED;
    const int row = blockIdx.x * G::PER_BLOCK + group, kept = row < rows ? row : rows - 1;
    load_row<BITS>(X + kept * row_step, columns, factor, constant, x, t);
    ComplexProduct<BITS> product;
    Values<BITS> v;
    bool finite = true;
    for (int first = 0; first < features; first += G::SIZE) {
        for (int s = 0; s < degree; ++s, negative += G::THREADS, odd += G::THREADS) {
            const unsigned signs = negative[t], parts = odd[t];
#pragma unroll
            for (int r = 0; r < G::VALUES; ++r) {
                const float value = flipped(x[padded<BITS, 0>(G::template element<0>(t, r))], signs, r);
                v[r] = (parts >> r) & 1 ? 0.0f : value;
            }
            transform_up<BITS>(v, reals, t);
            publish<BITS>(v, reals, t);
#pragma unroll
            for (int r = 0; r < G::VALUES; ++r) {
                const float value = flipped(x[padded<BITS, 0>(G::template element<0>(t, r))], signs, r);
                v[r] = (parts >> r) & 1 ? value : 0.0f;
            }
            transform_up<BITS>(v, imaginaries, t);
            publish<BITS>(v, imaginaries, t);
#pragma unroll
            for (int r = 0; r < G::VALUES; ++r) {
                const int f = first + G::template element<G::LAST>(t, r);
                const int place = f < features ? outputs[s * features + f] : 0;
                product.multiply(r, reals[place], imaginaries[place], s == 0);
            }
            G::wait();
        }
        if (row < rows) finite &= product.store(first, scale, Z + (long long)row * width, width, t);
    }
    if (row < rows && !finite) lost[row] = 1;
}
