// TensorSketch: the product over degrees of the Fourier transforms of count sketches, of a width that is a power of two.
//
// One group of threads maps one row. A sketch of 2 * SIZE real numbers is transformed as SIZE complex ones, neighbours
// being the real and the imaginary part, and taken apart afterwards.
#include "count_sketch.cuh"

// The stages of a transform along the register bits of one pass, from the highest bit down. ``turns`` has
// exp(-pi i k / SIZE) for k < SIZE.
template <int LOG, int PASS>
__device__ void fourier_pass(Values<LOG>& a, Values<LOG>& b, const float2* turns, int t) {
    using G = Group<LOG>;
    constexpr int B = G::layout(PASS);
#pragma unroll
    for (int bit = G::end_bit(PASS) - 1; bit >= G::first_bit(PASS); --bit) {
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            if (r & (1 << (bit - B))) continue;
            const int other = r | (1 << (bit - B)), j = G::template element<B>(t, r) & ((1 << bit) - 1);
            const float2 turn = turns[j << (LOG - bit)];
            const float p = a[r] - a[other], q = b[r] - b[other];
            a[r] += a[other];
            b[r] += b[other];
            a[other] = p * turn.x - q * turn.y;
            b[other] = p * turn.y + q * turn.x;
        }
    }
}

// Complex numbers come in the last layout and leave in layout 0, the numbers of their elements with reversed bits.
template <int LOG, int PASS = Group<LOG>::PASSES - 1>
__device__ void fourier_down(
    Values<LOG>& a, Values<LOG>& b, const float2* turns, float* reals, float* imaginaries, int t) {
    fourier_pass<LOG, PASS>(a, b, turns, t);
    if constexpr (PASS > 0) {
        exchange<LOG, Group<LOG>::layout(PASS), Group<LOG>::layout(PASS - 1)>(a, b, reals, imaginaries, t);
        fourier_down<LOG, PASS - 1>(a, b, turns, reals, imaginaries, t);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) tensor_sketch(
    const float* X, long long row_step, int rows, int columns, float factor, float constant, int degree,
    const int* entries, const int* places, const int* starts, int turns, const float2* roots, float scale, float* Z,
    unsigned char* lost) {
    using G = Group<BITS>;
    extern __shared__ float memory[];
    const int t = threadIdx.x % G::THREADS, group = threadIdx.x / G::THREADS;
    float *reals = memory + group * 2 * G::SHARED, *imaginaries = reals + G::SHARED;
    const int row = blockIdx.x * G::PER_BLOCK + group, kept = row < rows ? row : rows - 1;
    const SketchEntries sketch{entries, places, starts, turns, columns, factor, constant};
    Values<BITS> a, b, real, imaginary;
    for (int s = 0; s < degree; ++s) {
        sketch.template write<BITS>(s, X + kept * row_step, reals, t);
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            const int n = G::template element<G::LAST>(t, r);
            const float2 neighbours = reinterpret_cast<const float2*>(reals)[n];
            a[r] = neighbours.x;
            b[r] = neighbours.y;
        }
        G::wait();
        fourier_down<BITS>(a, b, roots, reals, imaginaries, t);
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            const int k = __brev(G::template element<0>(t, r)) >> (32 - BITS);
            reals[k] = a[r];
            imaginaries[k] = b[r];
        }
        G::wait();
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            const int k = G::template element<G::LAST>(t, r), mirrored = (G::SIZE - k) % G::SIZE;
            const float p = reals[k], q = imaginaries[k];
            if (k == 0) {  // the real values at both ends of the half spectrum
                real[r] = (s == 0 ? 1.0f : real[r]) * (p + q);
                imaginary[r] = (s == 0 ? 1.0f : imaginary[r]) * (p - q);
                continue;
            }
            const float m = reals[mirrored], n = imaginaries[mirrored];
            const float2 turn = roots[k];
            const float c = 0.5f * (q + n), d = 0.5f * (m - p);  // the odd entries' spectrum
            const float u = 0.5f * (p + m) + c * turn.x - d * turn.y, v = 0.5f * (q - n) + c * turn.y + d * turn.x;
            const float before = real[r], beside = imaginary[r];
            real[r] = s == 0 ? u : before * u - beside * v;
            imaginary[r] = s == 0 ? v : before * v + beside * u;
        }
        G::wait();
    }
    const float twice = scale * 1.41421356f;
    bool finite = true;
#pragma unroll
    for (int r = 0; r < G::VALUES; ++r) {
        const int k = G::template element<G::LAST>(t, r);
        const float re = (k == 0 ? scale : twice) * real[r], im = (k == 0 ? scale : twice) * imaginary[r];
        reals[k == 0 ? 0 : 2 * k - 1] = re;
        reals[k == 0 ? 2 * G::SIZE - 1 : 2 * k] = im;
        finite &= isfinite(re * 0.0f + im * 0.0f);
    }
    G::wait();
    if (row >= rows) return;
    float* out = Z + (long long)row * 2 * G::SIZE;
    for (int j = t; j < 2 * G::SIZE; j += G::THREADS) out[j] = reals[j];
    if (!finite) lost[row] = 1;
}
