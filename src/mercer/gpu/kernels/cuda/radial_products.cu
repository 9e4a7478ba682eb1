// Products of a radial kernel matrix with a few columns, whose kernel values never leave the registers.
//
// Every thread has some rows and sums over a section of the other points, which the block loads some at a time. The
// sums over a section are added up separately for every load, so that their rounding errors do not grow with the number
// of points. COLUMNS is the width of rows and points, OUTPUTS that of the matrix that is multiplied.

#include "radial_function.cuh"

constexpr int THREADS = 128, EACH = 4, LOADED = 128;

extern "C" __global__ void __launch_bounds__(128) radial_products(
    const float* X, long long rows, const float* points, long long count, const float* weights, float scale,
    int sections, float* out) {
    extern __shared__ float memory[];
    float *point = memory, *weight = memory + LOADED * COLUMNS;
    const long long loads = (count + LOADED - 1) / LOADED, section = blockIdx.x % sections;
    const long long first = loads * section / sections * LOADED;
    const long long last = loads * (section + 1) / sections * LOADED;
    const long long top = (long long)(blockIdx.x / sections) * THREADS * EACH + threadIdx.x;
    float x[EACH][COLUMNS], total[EACH][OUTPUTS];
#pragma unroll
    for (int r = 0; r < EACH; ++r) {
        const long long row = top + r * THREADS;
#pragma unroll
        for (int k = 0; k < COLUMNS; ++k) x[r][k] = row < rows ? X[row * COLUMNS + k] : 0.0f;
#pragma unroll
        for (int c = 0; c < OUTPUTS; ++c) total[r][c] = 0.0f;
    }
    for (long long start = first; start < last; start += LOADED) {
        const int some = count - start < LOADED ? (int)(count - start) : LOADED;
        for (int place = threadIdx.x; place < some * COLUMNS; place += THREADS) {
            point[place] = points[start * COLUMNS + place];
        }
        for (int place = threadIdx.x; place < some * OUTPUTS; place += THREADS) {
            weight[place] = weights[start * OUTPUTS + place];
        }
        __syncthreads();
        float sum[EACH][OUTPUTS];
#pragma unroll
        for (int r = 0; r < EACH; ++r)
#pragma unroll
            for (int c = 0; c < OUTPUTS; ++c) sum[r][c] = 0.0f;
        for (int j = 0; j < some; ++j) {
            float square[EACH];
#pragma unroll
            for (int r = 0; r < EACH; ++r) square[r] = 0.0f;
#pragma unroll
            for (int k = 0; k < COLUMNS; ++k) {
                const float other = point[j * COLUMNS + k];
#pragma unroll
                for (int r = 0; r < EACH; ++r) {
                    const float difference = x[r][k] - other;
                    square[r] += difference * difference;
                }
            }
#pragma unroll
            for (int r = 0; r < EACH; ++r) square[r] = value_of(square[r], scale);
#pragma unroll
            for (int c = 0; c < OUTPUTS; ++c) {
                const float factor = weight[j * OUTPUTS + c];
#pragma unroll
                for (int r = 0; r < EACH; ++r) sum[r][c] += square[r] * factor;
            }
        }
#pragma unroll
        for (int r = 0; r < EACH; ++r)
#pragma unroll
            for (int c = 0; c < OUTPUTS; ++c) total[r][c] += sum[r][c];
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < EACH; ++r) {
        const long long row = top + r * THREADS;
        if (row >= rows) continue;
#pragma unroll
        for (int c = 0; c < OUTPUTS; ++c) out[(section * rows + row) * OUTPUTS + c] = total[r][c];
    }
}
