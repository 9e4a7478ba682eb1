// Products of rows with few columns, and of the transposed rows with few weights.  Their speed is that of memory, so
// every row is read once.
#include "isa.h"

using std::size_t;

namespace {

template <class T>
struct FewColumns {
    static constexpr size_t lanes = Simd<T>::lanes;
    static constexpr size_t most = MERCER_VECTOR_BYTES == 64 ? 12 : 4;  // columns whose sums fit in registers
    static constexpr size_t group = 8;                                  // rows added at once

    static MERCER_INLINE T total(Vector<T> sums) {
        T lane[lanes];
        store(lane, sums);
        for (size_t width = lanes / 2; width; width /= 2) {
            for (size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
        }
        return lane[0];
    }

    // Inner products of two rows with `count` <= K columns; the last column stands in for those missing.
    template <size_t K>
    static void pair(const T *first, const T *second, size_t n, const T *columns, size_t count, T *out, T *other) {
        if constexpr (K > 2) {
            if (count <= K - 2) return pair<K - 2>(first, second, n, columns, count, out, other);
        }
        const T *column[K];
        Vector<T> sums[2][K];
        for (size_t c = 0; c < K; ++c) {
            column[c] = columns + (c < count ? c : count - 1) * n;
            sums[0][c] = sums[1][c] = Vector<T>{};
        }
        size_t j = 0;
#pragma GCC unroll 1
        for (; j + lanes <= n; j += lanes) {
            const Vector<T> a = load(first + j), b = load(second + j);
#pragma GCC unroll 16
            for (size_t c = 0; c < K; ++c) {
                const Vector<T> w = load(column[c] + j);
                sums[0][c] += a * w;
                sums[1][c] += b * w;
            }
        }
#pragma GCC unroll 16
        for (size_t c = 0; c < K; ++c) {
            T x = total(sums[0][c]), y = total(sums[1][c]);
            for (size_t i = j; i < n; ++i) x += first[i] * column[c][i], y += second[i] * column[c][i];
            if (c < count) out[c] = x, other[c] = y;
        }
    }

    // out = Z columns'; each column of the product is given as a row of `columns`.
    static void products(const T *Z, size_t rows, size_t n, const T *columns, size_t count, T *out) {
        T unused[most];
        for (size_t row = 0; row < rows; row += 2) {
            const bool alone = row + 1 == rows;
            const T *first = Z + row * n, *second = alone ? first : first + n;
            for (size_t c = 0; c < count; c += most) {
                const size_t some = count - c < most ? count - c : most;
                T *here = out + row * count + c;
                pair<most>(first, second, n, columns + c * n, some, here, alone ? unused : here + count);
            }
        }
    }

    // sums += weights' Z for R rows; every sum adds the rows one after the other, in their order.
    template <size_t R>
    static MERCER_INLINE void add(const T *Z, size_t n, const T *weights, size_t count, T *sums) {
        size_t j = 0;
        for (; j + lanes <= n; j += lanes) {
            Vector<T> z[R];
#pragma GCC unroll 8
            for (size_t r = 0; r < R; ++r) z[r] = load(Z + r * n + j);
#pragma GCC unroll 1
            for (size_t c = 0; c < count; ++c) {
                Vector<T> sum = load(sums + c * n + j);
#pragma GCC unroll 8
                for (size_t r = 0; r < R; ++r) sum += broadcast(weights[r * count + c]) * z[r];
                store<T>(sums + c * n + j, sum);
            }
        }
        for (; j < n; ++j) {
            for (size_t c = 0; c < count; ++c) {
                for (size_t r = 0; r < R; ++r) sums[c * n + j] += weights[r * count + c] * Z[r * n + j];
            }
        }
    }

    static void transposed(const T *Z, size_t rows, size_t n, const T *weights, size_t count, T *sums) {
        size_t row = 0;
        for (; row + group <= rows; row += group) add<group>(Z + row * n, n, weights + row * count, count, sums);
        for (; row < rows; ++row) add<1>(Z + row * n, n, weights + row * count, count, sums);
    }
};

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_FEW_COLUMNS(suffix, T)                                                                                  \
    void few_columns_##suffix(const T *Z, size_t rows, size_t n, const T *columns, size_t count, T *out) {             \
        FewColumns<T>::products(Z, rows, n, columns, count, out);                                                      \
    }                                                                                                                  \
    void few_columns_transposed_##suffix(const T *Z, size_t rows, size_t n, const T *weights, size_t count, T *sums) { \
        FewColumns<T>::transposed(Z, rows, n, weights, count, sums);                                                   \
    }

MERCER_FEW_COLUMNS(f32, float)
MERCER_FEW_COLUMNS(f64, double)

}  // namespace mercer::MERCER_ISA
