// Features that are products of factors <signs, x> with random signs, by additions alone.
//
// Dense rows: five columns of a group of rows have 32 signed sums.  All are put into a table, and every factor then takes
// the one that its five signs name: one addition in place of five multiply-adds.  Tables of eight such sets stay in L1,
// the factors of a chunk of features in L2, where they are multiplied; only features leave.
//
// Sparse rows: the signs of a column for all factors, as bits, turn the sign of an entry, one row at a time.
#include "groups.h"
#include "rows.h"

namespace {

constexpr size_t code_columns = 5;
constexpr size_t code_values = 1 << code_columns;
constexpr size_t block_codes = 8;
constexpr size_t code_step = 8;  // a code comes times 8: with the scale of an address that is its place in a table

// All 2^count sums of +- x[i], i < count, a group's columns; a bit is set where x is subtracted, the first x's highest.
template <class T, size_t count>
inline void signed_sums(const T *x, Vector<T> (&sums)[1 << count]) {
    sums[0] = load(x + (count - 1) * Group<T>::rows);
    sums[1] = -sums[0];
#pragma GCC unroll 4
    for (size_t i = 1; i < count; ++i) {
        const Vector<T> next = load(x + (count - 1 - i) * Group<T>::rows);
#pragma GCC unroll 8
        for (size_t j = 0; j < size_t(1) << i; ++j) {
            sums[j + (size_t(1) << i)] = sums[j] - next;
            sums[j] += next;
        }
    }
}

// The sums of five columns, those of the first register of a group, then those of the next.
template <class T>
inline void write_table(const T *x, T *table) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t r = 0; r < Group<T>::registers; ++r, x += lanes) {
        Vector<T> high[4], low[8];
        signed_sums<T, 2>(x, high);
        signed_sums<T, 3>(x + 2 * Group<T>::rows, low);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) {
#pragma GCC unroll 8
            for (size_t j = 0; j < 8; ++j, table += lanes) store<T>(table, high[i] + low[j]);
        }
    }
}

// Add to every factor, or begin it with, what its codes name in `count` tables.
template <class T, size_t count, bool begin>
void add_sums(const T *tables, const std::uint8_t *codes, size_t factors, T *sums) {
    constexpr size_t lanes = Simd<T>::lanes, registers = Group<T>::registers;
    constexpr size_t scale = sizeof(Vector<T>) / code_step;
    for (size_t f = 0; f < factors; ++f, codes += block_codes, sums += Group<T>::rows) {
        Vector<T> sum[registers];
#pragma GCC unroll 8
        for (size_t r = 0; r < registers; ++r) sum[r] = begin ? Vector<T>{} : load(sums + r * lanes);
#pragma GCC unroll 8
        for (size_t k = 0; k < count; ++k) {
            const size_t place = codes[k] * scale / sizeof(T);
#pragma GCC unroll 8
            for (size_t r = 0; r < registers; ++r) {
                sum[r] += load(tables + (k * registers + r) * code_values * lanes + place);
            }
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < registers; ++r) store(sums + r * lanes, sum[r]);
    }
}

template <class T, size_t most = block_codes>
inline void add_sums(size_t count, bool begin, const T *tables, const std::uint8_t *codes, size_t factors, T *sums) {
    if (count == most) {
        (begin ? add_sums<T, most, true> : add_sums<T, most, false>)(tables, codes, factors, sums);
    } else if constexpr (most > 1) {
        add_sums<T, most - 1>(count, begin, tables, codes, factors, sums);
    }
}

// The factors of dense rows: codes are those of (block of tables, factor, table).
template <class T>
struct DenseFactors {
    const T *X;
    size_t columns;
    const std::uint8_t *codes;
    size_t factors;
    T *turned;

    void take(size_t first, size_t rows) {
        constexpr size_t lanes = Simd<T>::lanes;
        const size_t count = (columns + code_columns - 1) / code_columns * code_columns;
        for (size_t r = 0; r < Group<T>::rows; r += lanes) {
            gather<T>(X + (first + r) * columns, columns, r < rows ? rows - r : 0, columns, count, turned + r);
        }
    }

    void sum(size_t first, size_t count, T *sums) {
        alignas(64) T tables[block_codes * code_values * Group<T>::rows];
        const size_t all = (columns + code_columns - 1) / code_columns;
        for (size_t done = 0; done < all; done += block_codes) {
            const size_t now = all - done < block_codes ? all - done : block_codes;
            for (size_t k = 0; k < now; ++k) {
                write_table<T>(turned + (done + k) * code_columns * Group<T>::rows,
                               tables + k * code_values * Group<T>::rows);
            }
            const std::uint8_t *own = codes + (done / block_codes * factors + first) * block_codes;
            add_sums<T>(now, done == 0, tables, own, count, sums);
        }
    }
};

template <class T>
struct Word;
template <>
struct Word<float> {
    typedef std::uint32_t type;
};
template <>
struct Word<double> {
    typedef std::uint64_t type;
};

// The factors of CSR rows.  Their signs come in blocks of as many factors as 64 bytes have bits, every chunk in blocks of
// its own: factor i of a block has bit i / words, counted from the highest, of word i % words.
template <class T>
struct SparseFactors {
    using Bits = typename Word<T>::type;
    typedef Bits BitVector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    static constexpr size_t words = 64 / sizeof(T), block = words * 8 * sizeof(T), lanes = Simd<T>::lanes;
    static constexpr size_t held = MERCER_VECTOR_BYTES == 64 ? 16 : 8;  // sums of a row that registers have room for

    Rows<T> all;
    const Bits *bits;
    size_t start = 0, taken = 0;  // of the group
    size_t next = 0;              // block

    void take(size_t first, size_t rows) {
        start = first;
        taken = rows;
        next = 0;
    }

    void sum(size_t, size_t count, T *sums) {
        for (size_t done = 0; done < count; done += block, ++next) {
            const Bits *own = bits + next * all.columns * words;
            for (size_t bit = 0; bit < 8 * sizeof(T) && done + bit * words < count; bit += held) {
                for (size_t word = 0; word < words; word += lanes) {
                    for (size_t r = 0; r < Group<T>::rows; r += lanes) {
                        some(r, own + word, bit, sums + (done + bit * words + word) * Group<T>::rows + r);
                    }
                }
            }
        }
    }

   private:
    // Factors of the bits from `bit` on, for the words of one register and the rows of one.
    void some(size_t r, const Bits *own, size_t bit, T *sums) const {
        alignas(64) T rows[lanes * held * lanes];
        const size_t count = taken < r ? 0 : taken - r < lanes ? taken - r : lanes;
        const Rows<T> part{all.values, all.indices, all.index_bytes, all.starts + start + r, count, all.columns};
        part.each([&](size_t row, auto entries) {
            one(entries, own, bit, rows + row * held * lanes);
            return true;
        });
        for (size_t i = 0; i < held; ++i) {
            gather<T>(rows + i * lanes, held * lanes, count, lanes, lanes, sums + i * words * Group<T>::rows);
        }
    }

    template <class Index>
    static void one(const Entries<T, Index> &row, const Bits *own, size_t bit, T *out) {
        constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
        Vector<T> sum[held] = {};
        for (size_t i = 0; i < row.count; ++i) {
            const Vector<T> value = Vector<T>{} + row.values[i];
            BitVector turns;
            __builtin_memcpy(&turns, own + row.column(i) * words, sizeof turns);
            turns <<= bit;
#pragma GCC unroll 16
            for (size_t k = 0; k < held; ++k) sum[k] += (Vector<T>)(((turns << k) & sign) ^ (BitVector)value);
        }
#pragma GCC unroll 16
        for (size_t k = 0; k < held; ++k) store(out + k * lanes, sum[k]);
    }
};

// Feature i is weights[i] times the product of the next degrees[i] factors, a complex number of two parts and two columns
// where parts is 2.  Features come in chunks that begin at `borders`; the factors of one have room in `sums`.
template <class T>
struct Products {
    const std::int32_t *degrees;
    const T *weights;
    size_t parts;
    const std::int64_t *borders;
    size_t chunks;
    T *out;
    size_t stride, width;
    T *sums;

    // The first of `rows` rows with a feature that is not finite, or `rows`.
    template <class Factors>
    size_t write(Factors factors, size_t rows) const {
        size_t finite = rows;
        for (size_t first = 0; first < rows; first += Group<T>::rows) {
            const size_t taken = rows - first < Group<T>::rows ? rows - first : Group<T>::rows;
            const size_t found = parts == 1 ? group<1>(factors, first, taken) : group<2>(factors, first, taken);
            if (found < taken && finite == rows) finite = first + found;
        }
        return finite;
    }

   private:
    template <size_t parts, class Factors>
    size_t group(Factors &factors, size_t first, size_t taken) const {
        constexpr size_t lanes = Simd<T>::lanes;
        Finite<T> finite[Group<T>::registers];
        factors.take(first, taken);
        size_t begin = 0;
        for (size_t c = 0; c < chunks; ++c) {
            const size_t from = static_cast<size_t>(borders[c]), to = static_cast<size_t>(borders[c + 1]);
            size_t count = 0;
            for (size_t i = from; i < to; ++i) count += parts * static_cast<size_t>(degrees[i]);
            factors.sum(begin, count, sums);
            begin += count;
            for (size_t r = 0; r * lanes < taken; ++r) {
                T *place = out + (first + r * lanes) * stride;
                columns<parts>(from, to, sums + r * lanes, taken - r * lanes, place, finite[r]);
            }
        }
        for (size_t row = 0; row < taken; ++row) {
            if (finite[row / lanes].trace[row % lanes] != T(0)) return row;
        }
        return taken;
    }

    // The columns of the features from `from` to `to`, for the rows of a register.
    template <size_t parts>
    void columns(size_t from, size_t to, const T *factor, size_t rows, T *place, Finite<T> &finite) const {
        constexpr size_t lanes = Simd<T>::lanes;
        const size_t last = parts * to < width ? parts * to : width;
        for (size_t i = from; i < to; i += lanes / parts) {
            alignas(64) T block[lanes * lanes] = {};
            const size_t end = to - i < lanes / parts ? to : i + lanes / parts;
            for (size_t j = i; j < end; ++j) {
                factor = one<parts>(j, factor, block + (j - i) * parts * lanes, finite);
            }
            scatter<T>(block, rows, last - parts * i, place + parts * i, stride);
        }
    }

    template <size_t parts>
    const T *one(size_t i, const T *factor, T *columns, Finite<T> &finite) const {
        Vector<T> real = Vector<T>{} + weights[parts * i];
        if constexpr (parts == 1) {
            for (std::int32_t s = 0; s < degrees[i]; ++s, factor += Group<T>::rows) real *= load(factor);
        } else {
            Vector<T> imaginary = Vector<T>{} + weights[parts * i + 1];
            for (std::int32_t s = 0; s < degrees[i]; ++s, factor += 2 * Group<T>::rows) {
                const Vector<T> a = load(factor), b = load(factor + Group<T>::rows), product = real * a - imaginary * b;
                imaginary = real * b + imaginary * a;
                real = product;
            }
            finite.see(imaginary);
            store(columns + Simd<T>::lanes, imaginary);
        }
        finite.see(real);
        store(columns, real);
        return factor;
    }
};

// The next place that begins a cache line: tables and sums that straddle two would take twice as long to read.
template <class T>
inline T *line(T *scratch) {
    return reinterpret_cast<T *>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 * 64);
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_SIGNS(suffix, T)                                                                                       \
    size_t sign_products_##suffix(const T *X, size_t rows, size_t columns, const std::uint8_t *codes,                 \
                                  const std::int32_t *degrees, const T *weights, size_t parts,                        \
                                  const std::int64_t *borders, size_t chunks, size_t factors, size_t most, T *out,    \
                                  size_t stride, size_t width, T *scratch) {                                          \
        T *sums = line(scratch);                                                                                      \
        return Products<T>{degrees, weights, parts, borders, chunks, out, stride, width, sums}.write(                 \
            DenseFactors<T>{X, columns, codes, factors, sums + most * Group<T>::rows}, rows);                         \
    }                                                                                                                 \
    size_t sparse_sign_products_##suffix(const T *values, const void *indices, size_t index_bytes,                    \
                                         const std::int64_t *starts, size_t rows, size_t columns, const void *bits,   \
                                         const std::int32_t *degrees, const T *weights, size_t parts,                 \
                                         const std::int64_t *borders, size_t chunks, T *out, size_t stride,           \
                                         size_t width, T *scratch) {                                                  \
        const Rows<T> all{values, indices, index_bytes, starts, rows, columns};                                       \
        return Products<T>{degrees, weights, parts, borders, chunks, out, stride, width, line(scratch)}.write(        \
            SparseFactors<T>{all, static_cast<const typename Word<T>::type *>(bits)}, rows);                          \
    }

MERCER_SIGNS(f32, float)
MERCER_SIGNS(f64, double)

}  // namespace mercer::MERCER_ISA
