// Products of rows with a matrix that is packed once for all of them.
//
// A panel is as many columns of the matrix as two registers hold; the numbers of one row of a panel are neighbours.
// The sums of a group of rows and a panel stay in registers.  Each sum adds its terms in order, with cuts that depend
// only on the length of a row: the bits of a row depend neither on its neighbours nor on where rows are cut.  Part of a
// panel stays in L1 while all groups of a tile are multiplied by it; the tile's rows and sums stay in L2.  Sparse rows
// are multiplied by two panels at a time, and read only the rows of the panels that belong to their entries.
#pragma once

#include "isa.h"

#include <cstdint>

namespace {

using std::size_t;

template <class T>
struct Gemm {
    static constexpr size_t lanes = Simd<T>::lanes, panel = 2 * lanes;
    static constexpr size_t group = MERCER_VECTOR_BYTES == 64 ? 14 : 6;  // rows, for 32 registers or for 16
    static constexpr size_t tile = 140 / group * group;                  // rows
    static constexpr size_t block = 256;                                 // columns of a tile's sums
    static constexpr size_t depth = 256;                                 // numbers of a row taken at a time, at most
    static constexpr size_t line = 64 / sizeof(T);
    static constexpr size_t apart = depth + line;  // so that the rows of a group are in different sets of the cache
    static constexpr size_t room = tile * (apart + block);

    // sums[r] = (or += if there is `more`) rows[r] times a panel, over `count` numbers; fetches what comes next into
    // L2.
    template <size_t R>
    static MERCER_INLINE void multiply(const T *rows, const T *columns, size_t count, T *sums, bool more,
                                       const T *next) {
        Vector<T> sum[R][2];
#pragma GCC unroll 16
        for (size_t r = 0; r < R; ++r) {
            sum[r][0] = more ? load(sums + r * block) : Vector<T>{};
            sum[r][1] = more ? load(sums + r * block + lanes) : Vector<T>{};
        }
#pragma GCC unroll 1
        for (size_t k = 0; k < count; ++k) {
            __builtin_prefetch(next + k * line, 0, 2);
            const Vector<T> low = load(columns + k * panel), high = load(columns + k * panel + lanes);
#pragma GCC unroll 16
            for (size_t r = 0; r < R; ++r) {
                const Vector<T> number = broadcast(rows[r * apart + k]);
                sum[r][0] += number * low;
                sum[r][1] += number * high;
            }
        }
#pragma GCC unroll 16
        for (size_t r = 0; r < R; ++r) {
            store(sums + r * block, sum[r][0]);
            store(sums + r * block + lanes, sum[r][1]);
        }
    }

    // The sums of a tile and a panel over part of the numbers of the rows.  The first groups prefetch the next panel,
    // one cache line for each number; for the other groups, it is in L1 already.
    static void part(const T *copy, size_t rows, const T *columns, size_t count, T *sums, bool more, const T *next) {
        constexpr size_t lines = panel > line ? panel / line : 1;
        size_t row = 0;
        for (; rows - row > group / 2; row += group) {
            const T *fetched = row < lines * group ? next + row / group * count * line : columns;
            multiply<group>(copy + row * apart, columns, count, sums + row * block, more, fetched);
            if (rows - row <= group) return;
        }
        copy += row * apart, sums += row * block;
        if (rows - row > 2) return multiply<group / 2>(copy, columns, count, sums, more, next);
        multiply<2>(copy, columns, count, sums, more, next);
    }

    // Copies the numbers of a tile's rows from `start` on; the last group is filled up with zeros.
    static void gather(const T *X, size_t rows, size_t n, size_t start, size_t count, T *copy) {
        for (size_t r = 0; r < rows; ++r) {
            __builtin_memcpy(copy + r * apart, X + r * n + start, count * sizeof(T));
        }
        for (size_t r = rows; r % group; ++r) __builtin_memset(copy + r * apart, 0, count * sizeof(T));
    }

    // Calls see(row, first, count, sums) for all rows and blocks of columns.  `scratch` holds `room` numbers.
    template <class See>
    static void all(const T *X, size_t rows, size_t n, const T *panels, size_t columns, T *scratch, See see) {
        T *copy = scratch, *sums = scratch + tile * apart;
        const size_t parts = (n + depth - 1) / depth, most = (n + parts - 1) / parts;
        for (size_t top = 0; top < rows; top += tile) {
            const size_t some = rows - top < tile ? rows - top : tile;
            for (size_t first = 0; first < columns; first += block) {
                const size_t width = columns - first < block ? columns - first : block;
                for (size_t start = 0; start < n; start += most) {
                    const size_t count = n - start < most ? n - start : most;
                    gather(X + top * n, some, n, start, count, copy);
                    for (size_t c = 0; c < width; c += panel) {
                        const T *from = panels + (first + c) * n + start * panel;
                        const T *after = start + count < n ? panels + first * n + (start + count) * panel : from;
                        const T *next = c + panel < width ? from + n * panel : after;
                        part(copy, some, from, count, sums + c, start > 0, next);
                    }
                }
                for (size_t r = 0; r < some; ++r) see(top + r, first, width, sums + r * block);
            }
        }
    }

    // sums = the entries of a row times P panels of n rows each.
    template <size_t P, class Index>
    static MERCER_INLINE void multiply_entries(const T *values, const Index *indices, size_t count, const T *columns,
                                               size_t n, T *sums) {
        Vector<T> sum[P][2] = {};
        for (size_t i = 0; i < count; ++i) {
            const Vector<T> number = broadcast(values[i]);
            const T *from = columns + static_cast<size_t>(indices[i]) * panel;
#pragma GCC unroll 4
            for (size_t p = 0; p < P; ++p) {
                sum[p][0] += number * load(from + p * n * panel);
                sum[p][1] += number * load(from + p * n * panel + lanes);
            }
        }
#pragma GCC unroll 4
        for (size_t p = 0; p < P; ++p) {
            store(sums + p * panel, sum[p][0]);
            store(sums + p * panel + lanes, sum[p][1]);
        }
    }

    // The same as all() for CSR rows: row r has the entries starts[r] to starts[r + 1].
    template <class Index, class See>
    static void all_sparse(const T *values, const Index *indices, const std::int64_t *starts, size_t rows, size_t n,
                           const T *panels, size_t columns, T *sums, See see) {
        for (size_t top = 0; top < rows; top += tile) {
            const size_t some = rows - top < tile ? rows - top : tile;
            for (size_t first = 0; first < columns; first += block) {
                const size_t width = columns - first < block ? columns - first : block;
                for (size_t c = 0; c < width; c += 2 * panel) {
                    const T *from = panels + (first + c) * n;
                    for (size_t r = 0; r < some; ++r) {
                        const std::int64_t start = starts[top + r];
                        const size_t count = static_cast<size_t>(starts[top + r + 1] - start);
                        T *to = sums + r * block + c;
                        if (width - c > panel) {
                            multiply_entries<2>(values + start, indices + start, count, from, n, to);
                        } else {
                            multiply_entries<1>(values + start, indices + start, count, from, n, to);
                        }
                    }
                }
                for (size_t r = 0; r < some; ++r) see(top + r, first, width, sums + r * block);
            }
        }
    }

    // Packs the panels of a matrix of n rows minus the origin; the last one is filled up with columns of zeros.
    static void pack(const double *matrix, size_t n, size_t columns, size_t row_step, size_t column_step,
                     const double *origin, T *panels) {
        constexpr size_t some = 8;  // rows read together, so that a panel receives more than a line or two of them
        for (size_t top = 0; top < n; top += some) {
            const size_t bottom = n - top < some ? n : top + some;
            for (size_t first = 0; first < columns; first += panel) {
                const size_t width = columns - first < panel ? columns - first : panel;
                for (size_t k = top; k < bottom; ++k) {
                    const double *from = matrix + k * row_step + first * column_step;
                    T *to = panels + first * n + k * panel;
                    for (size_t c = 0; c < width; ++c) to[c] = T(from[c * column_step] - origin[k]);
                    for (size_t c = width; c < panel; ++c) to[c] = T(0);
                }
            }
        }
    }
};

}  // namespace
