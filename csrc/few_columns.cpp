// Products of rows with few columns, and of the transposed rows with few weights.  Their speed is that of memory, so
// every row is read once, and rows from all over an array are read where they stand, by their numbers.
#include "isa.h"

#include <cstdint>

using std::size_t;

namespace {

template <class T>
struct FewColumns {
    static constexpr size_t lanes = Simd<T>::lanes;
    static constexpr size_t most = MERCER_VECTOR_BYTES == 64 ? 12 : 4;  // columns whose sums fit in registers
    static constexpr size_t together = 4;  // columns that a row is multiplied by at once, or rows added at once
    static constexpr size_t tile = 16;     // rows that stay in cache until they are added

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

    // out = Z columns' for the rows of these numbers; each column of the product is given as a row of `columns`.
    static void products(const T *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *columns,
                         size_t count, T *out) {
        T unused[most];
        for (size_t row = 0; row < some; row += 2) {
            const bool alone = row + 1 == some;
            const T *first = Z + rows[row] * stride, *second = alone ? first : Z + rows[row + 1] * stride;
            for (size_t c = 0; c < count; c += most) {
                const size_t few = count - c < most ? count - c : most;
                T *here = out + row * count + c;
                pair<most>(first, second, n, columns + c * n, few, here, alone ? unused : here + count);
            }
        }
    }

    // The inner products of a row with K columns.
    template <size_t K>
    static MERCER_INLINE void inner(const T *row, size_t n, const T *const (&column)[together], T *out) {
        Vector<T> even[K], odd[K];  // two sums of each, so that one addition does not wait for the other
#pragma GCC unroll 4
        for (size_t c = 0; c < K; ++c) even[c] = odd[c] = Vector<T>{};
        size_t j = 0;
#pragma GCC unroll 1
        for (; j + 2 * lanes <= n; j += 2 * lanes) {
            const Vector<T> a = load(row + j), b = load(row + j + lanes);
#pragma GCC unroll 4
            for (size_t c = 0; c < K; ++c) {
                even[c] += a * load(column[c] + j);
                odd[c] += b * load(column[c] + j + lanes);
            }
        }
#pragma GCC unroll 4
        for (size_t c = 0; c < K; ++c) {
            T sum = total(even[c] + odd[c]);
            for (size_t i = j; i < n; ++i) sum += row[i] * column[c][i];
            out[c] = sum;
        }
    }

    // weights = curvature (Z columns' + offsets) of one row.  Columns without curvature have weight 0, and are not
    // multiplied.
    static MERCER_INLINE void bend(const T *row, size_t n, const T *curvature, const T *columns, const T *offsets,
                                   size_t count, T *weights) {
        const T *column[together];
        size_t number[together], few = 0;
        T found[together];
        const auto flush = [&] {
            for (size_t c = few; c < together; ++c) column[c] = column[0];
            switch (few) {
                case 1: inner<1>(row, n, column, found); break;
                case 2: inner<2>(row, n, column, found); break;
                case 3: inner<3>(row, n, column, found); break;
                default: inner<together>(row, n, column, found);
            }
            for (size_t c = 0; c < few; ++c) {
                weights[number[c]] = curvature[number[c]] * (found[c] + offsets[number[c]]);
            }
            few = 0;
        };
        for (size_t c = 0; c < count; ++c) {
            weights[c] = T(0);
            if (curvature[c] == T(0)) continue;
            column[few] = columns + c * n, number[few++] = c;
            if (few == together) flush();
        }
        if (few) flush();
    }

    // sums += weights' rows, for R rows; every sum adds the rows one after the other, in their order.
    template <size_t R>
    static MERCER_INLINE void add(const T *const (&row)[together], const T (&weight)[together], size_t n, T *sums) {
        size_t j = 0;
#pragma GCC unroll 1
        for (; j + lanes <= n; j += lanes) {
            Vector<T> sum = load(sums + j);
#pragma GCC unroll 4
            for (size_t r = 0; r < R; ++r) sum += broadcast(weight[r]) * load(row[r] + j);
            store<T>(sums + j, sum);
        }
        for (; j < n; ++j) {
            for (size_t r = 0; r < R; ++r) sums[j] += weight[r] * row[r][j];
        }
    }

    // The same for a tile of rows and one column of weights, of which those that are 0 are passed over.
    static void add_column(const T *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *weights,
                           size_t count, T *sums) {
        const T *row[together];
        T weight[together];
        size_t few = 0;
        for (size_t r = 0; r < some; ++r) {
            if (weights[r * count] == T(0)) continue;
            row[few] = Z + rows[r] * stride, weight[few++] = weights[r * count];
            if (few == together) add<together>(row, weight, n, sums), few = 0;
        }
        switch (few) {
            case 1: return add<1>(row, weight, n, sums);
            case 2: return add<2>(row, weight, n, sums);
            case 3: return add<3>(row, weight, n, sums);
        }
    }

    static void transposed(const T *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *weights,
                           size_t count, T *sums) {
        for (size_t top = 0; top < some; top += tile) {
            const size_t here = some - top < tile ? some - top : tile;
            for (size_t c = 0; c < count; ++c) {
                add_column(Z, stride, n, rows + top, here, weights + top * count + c, count, sums + c * n);
            }
        }
    }

    // sums += Z' (curvature (Z columns' + offsets)): a tile of rows is still in cache when it is added.
    static void curved(const T *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *curvature,
                       const T *columns, const T *offsets, size_t count, T *weights, T *sums) {
        for (size_t top = 0; top < some; top += tile) {
            const size_t here = some - top < tile ? some - top : tile;
            for (size_t r = top; r < top + here; ++r) {
                bend(Z + rows[r] * stride, n, curvature + r * count, columns, offsets, count, weights + r * count);
            }
            transposed(Z, stride, n, rows + top, here, weights + top * count, count, sums);
        }
    }
};

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_FEW_COLUMNS(suffix, T)                                                                                 \
    void few_columns_##suffix(const T *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *columns, \
                              size_t count, T *out) {                                                                 \
        FewColumns<T>::products(Z, stride, n, rows, some, columns, count, out);                                       \
    }                                                                                                                 \
    void few_columns_transposed_##suffix(const T *Z, size_t stride, size_t n, const int64_t *rows, size_t some,       \
                                         const T *weights, size_t count, T *sums) {                                   \
        FewColumns<T>::transposed(Z, stride, n, rows, some, weights, count, sums);                                    \
    }                                                                                                                 \
    void few_columns_curved_##suffix(const T *Z, size_t stride, size_t n, const int64_t *rows, size_t some,           \
                                     const T *curvature, const T *columns, const T *offsets, size_t count,            \
                                     T *weights, T *sums) {                                                           \
        FewColumns<T>::curved(Z, stride, n, rows, some, curvature, columns, offsets, count, weights, sums);           \
    }

MERCER_FEW_COLUMNS(f32, float)
MERCER_FEW_COLUMNS(f64, double)

}  // namespace mercer::MERCER_ISA
