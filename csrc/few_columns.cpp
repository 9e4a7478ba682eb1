// Products of rows with few columns, and of the transposed rows with few weights.  Their speed is that of memory, so
// every row is read only once, and selected rows are read in place, by their numbers, without a copy.  Rows may be
// stored as 16-bit integers, which halves what is read; the caller multiplies the result by their unit.
#include "isa.h"

#include <cstdint>
#include <type_traits>

using std::size_t;

namespace {

// Products in the precision of T with rows that are stored as S.
template <class T, class S>
struct FewColumns {
    static constexpr size_t lanes = Simd<T>::lanes;
    static constexpr size_t most = MERCER_VECTOR_BYTES == 64 ? 12 : 4;  // columns whose sums fit in registers
    static constexpr size_t together = 4;  // columns that a row is multiplied by at once, or rows added at once
    static constexpr size_t tile = 16;     // rows that stay in cache until they are added
    static constexpr size_t ahead = 1024 / sizeof(S);  // how many numbers of a row to prefetch

    static MERCER_INLINE Vector<T> fetch(const S *from) {
        if constexpr (std::is_same_v<S, T>) {
            return load(from);
        } else {
            typedef S Stored __attribute__((vector_size(lanes * sizeof(S))));
            typedef std::int32_t Whole __attribute__((vector_size(lanes * sizeof(std::int32_t))));
            Stored stored;
            __builtin_memcpy(&stored, from, sizeof stored);
            return __builtin_convertvector(__builtin_convertvector(stored, Whole), Vector<T>);
        }
    }

    static MERCER_INLINE T total(Vector<T> sums) {
        T lane[lanes];
        store(lane, sums);
        for (size_t width = lanes / 2; width; width /= 2) {
            for (size_t i = 0; i < width; ++i) lane[i] += lane[i + width];
        }
        return lane[0];
    }

    // Inner products of two rows with `count` <= K columns.  If there are fewer than K, the last one is repeated.
    template <size_t K>
    static void pair(const S *first, const S *second, size_t n, const T *columns, size_t count, T *out, T *other) {
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
            const Vector<T> a = fetch(first + j), b = fetch(second + j);
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
            for (size_t i = j; i < n; ++i) x += T(first[i]) * column[c][i], y += T(second[i]) * column[c][i];
            if (c < count) out[c] = x, other[c] = y;
        }
    }

    // out = Z columns' for the rows of these numbers; each column of the product is given as a row of `columns`.
    static void products(const S *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *columns,
                         size_t count, T *out) {
        T unused[most];
        for (size_t row = 0; row < some; row += 2) {
            const bool alone = row + 1 == some;
            const S *first = Z + rows[row] * stride, *second = alone ? first : Z + rows[row + 1] * stride;
            for (size_t c = 0; c < count; c += most) {
                const size_t few = count - c < most ? count - c : most;
                T *here = out + row * count + c;
                pair<most>(first, second, n, columns + c * n, few, here, alone ? unused : here + count);
            }
        }
    }

    // The inner products of a row with K columns.
    template <size_t K>
    static MERCER_INLINE void inner(const S *row, size_t n, const T *const (&column)[together], T *out) {
        constexpr size_t chains = K == 1 ? 8 : K == 2 ? 4 : 2;  // sums per column, so that additions need not wait
        Vector<T> sums[K][chains];
#pragma GCC unroll 4
        for (size_t c = 0; c < K; ++c) {
#pragma GCC unroll 8
            for (size_t i = 0; i < chains; ++i) sums[c][i] = Vector<T>{};
        }
        size_t j = 0;
#pragma GCC unroll 1
        for (; j + chains * lanes <= n; j += chains * lanes) {
#pragma GCC unroll 8
            for (size_t i = 0; i < chains; ++i) {
                const Vector<T> z = fetch(row + j + i * lanes);
#pragma GCC unroll 4
                for (size_t c = 0; c < K; ++c) sums[c][i] += z * load(column[c] + j + i * lanes);
            }
        }
#pragma GCC unroll 4
        for (size_t c = 0; c < K; ++c) {
#pragma GCC unroll 4
            for (size_t half = chains / 2; half; half /= 2) {
#pragma GCC unroll 4
                for (size_t i = 0; i < half; ++i) sums[c][i] += sums[c][i + half];
            }
            T sum = total(sums[c][0]);
            for (size_t i = j; i < n; ++i) sum += T(row[i]) * column[c][i];
            out[c] = sum;
        }
    }

    // weights = curvature (Z columns' + offsets) of one row.  Columns without curvature have weight 0 and
    // are skipped.
    static MERCER_INLINE void bend(const S *row, size_t n, const T *curvature, const T *columns, const T *offsets,
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
    static MERCER_INLINE void add(const S *const (&row)[together], const T (&weight)[together], size_t n, T *sums) {
        size_t j = 0;
#pragma GCC unroll 1
        for (; j + lanes <= n; j += lanes) {
            Vector<T> sum = load(sums + j);
#pragma GCC unroll 4
            for (size_t r = 0; r < R; ++r) sum += broadcast(weight[r]) * fetch(row[r] + j);
            store<T>(sums + j, sum);
        }
        for (; j < n; ++j) {
            for (size_t r = 0; r < R; ++r) sums[j] += weight[r] * T(row[r][j]);
        }
    }

    // The same for a tile of rows and one column of weights; weights of 0 are skipped.
    static void add_column(const S *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *weights,
                           size_t count, T *sums) {
        const S *row[together];
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

    static void transposed(const S *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *weights,
                           size_t count, T *sums) {
        for (size_t top = 0; top < some; top += tile) {
            const size_t here = some - top < tile ? some - top : tile;
            for (size_t c = 0; c < count; ++c) {
                add_column(Z, stride, n, rows + top, here, weights + top * count + c, count, sums + c * n);
            }
        }
    }

    // sums += Z' (curvature (Z columns' + offsets)): a tile of rows is still in cache when it is added.
    static void curved(const S *Z, size_t stride, size_t n, const std::int64_t *rows, size_t some, const T *curvature,
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

// out = x / unit, rounded, for adjacent columns of a larger array; values below 0 or beyond 16 bits are clipped.
template <class T>
void to_fixed(const T *values, size_t rows, size_t n, T units, std::uint16_t *out, size_t stride) {
    for (size_t r = 0; r < rows; ++r) {
        const T *from = values + r * n;
        std::uint16_t *to = out + r * stride;
        for (size_t j = 0; j < n; ++j) {
            const T x = from[j] * units + T(0.5), bounded = x < T(0) ? T(0) : x > T(65535) ? T(65535) : x;
            to[j] = static_cast<std::uint16_t>(static_cast<std::int32_t>(bounded));
        }
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_FEW_COLUMNS(prefix, suffix, T, S)                                                                     \
    void prefix##few_columns_##suffix(const S *Z, size_t stride, size_t n, const int64_t *rows, size_t some,         \
                                      const T *columns, size_t count, T *out) {                                      \
        FewColumns<T, S>::products(Z, stride, n, rows, some, columns, count, out);                                   \
    }                                                                                                                \
    void prefix##few_columns_transposed_##suffix(const S *Z, size_t stride, size_t n, const int64_t *rows,           \
                                                 size_t some, const T *weights, size_t count, T *sums) {             \
        FewColumns<T, S>::transposed(Z, stride, n, rows, some, weights, count, sums);                                \
    }                                                                                                                \
    void prefix##few_columns_curved_##suffix(const S *Z, size_t stride, size_t n, const int64_t *rows, size_t some,  \
                                             const T *curvature, const T *columns, const T *offsets, size_t count,   \
                                             T *weights, T *sums) {                                                  \
        FewColumns<T, S>::curved(Z, stride, n, rows, some, curvature, columns, offsets, count, weights, sums);       \
    }

MERCER_FEW_COLUMNS(, f32, float, float)
MERCER_FEW_COLUMNS(, f64, double, double)
MERCER_FEW_COLUMNS(fixed_, f32, float, uint16_t)
MERCER_FEW_COLUMNS(fixed_, f64, double, uint16_t)

void to_fixed_f32(const float *values, size_t rows, size_t n, float units, uint16_t *out, size_t stride) {
    to_fixed(values, rows, n, units, out, stride);
}

void to_fixed_f64(const double *values, size_t rows, size_t n, double units, uint16_t *out, size_t stride) {
    to_fixed(values, rows, n, units, out, stride);
}

}  // namespace mercer::MERCER_ISA
