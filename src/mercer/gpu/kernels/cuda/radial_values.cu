// Radial kernels of rows and landmarks with few columns: sums of squared differences, and the function of these sums.
//
// Differences of float32 numbers lose no digits, which inner products of rows far from the origin do. One block of
// threads computes a square of TILE x TILE values, EACH x EACH of them in every thread, some columns after the other.

#include "radial_function.cuh"

constexpr int TILE = 128, SIDE = 16, EACH = TILE / SIDE, DEPTH = 8, THREADS = SIDE * SIDE, STEP = TILE + 1;

// Copies DEPTH columns of TILE rows, column by column; what lies outside becomes 0.
__device__ inline void load(const float* rows, long long first, long long count, int columns, int column, float* out) {
    for (int place = threadIdx.x; place < TILE * DEPTH; place += THREADS) {
        const int r = place / DEPTH, k = place % DEPTH;
        const bool inside = first + r < count && column + k < columns;
        out[k * STEP + r] = inside ? rows[(first + r) * columns + column + k] : 0.0f;
    }
}

extern "C" __global__ void __launch_bounds__(256) radial_values(
    const float* X, long long rows, const float* landmarks, int count, int columns, float scale, float* out) {
    extern __shared__ float memory[];
    float *x = memory, *y = memory + DEPTH * STEP;
    const int across = (count + TILE - 1) / TILE, tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const long long top = (long long)(blockIdx.x / across) * TILE;
    const int left = blockIdx.x % across * TILE;
    float sums[EACH][EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) sums[i][j] = 0.0f;
    for (int column = 0; column < columns; column += DEPTH) {
        load(X, top, rows, columns, column, x);
        load(landmarks, left, count, columns, column, y);
        __syncthreads();
        const int depth = columns - column < DEPTH ? columns - column : DEPTH;
        for (int k = 0; k < depth; ++k) {
            float mine[EACH], theirs[EACH];
#pragma unroll
            for (int i = 0; i < EACH; ++i) mine[i] = x[k * STEP + ty + SIDE * i];
#pragma unroll
            for (int j = 0; j < EACH; ++j) theirs[j] = y[k * STEP + tx + SIDE * j];
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) {
                    const float difference = mine[i] - theirs[j];
                    sums[i][j] += difference * difference;
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const long long row = top + ty + SIDE * i;
        if (row >= rows) continue;
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int landmark = left + tx + SIDE * j;
            if (landmark < count) out[row * count + landmark] = value_of(sums[i][j], scale);
        }
    }
}
