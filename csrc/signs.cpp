// Features that are products of factors <signs, x> with random signs, computed by additions alone.
//
// Dense rows: five columns of a group of rows have 32 signed sums.  All of them are put into a table, from which every
// factor takes the one that its five signs select: one addition instead of five multiply-adds.  The tables of eight
// times five columns stay in L1, the factors of a stretch of features in L2, where they are multiplied; only features
// leave.
//
// Sparse rows: the signs of a column for all factors, as bits, flip the sign of an entry, one row at a time.
#include "row_groups.h"
#include "rows.h"

namespace {

constexpr size_t code_columns = 5;
constexpr size_t code_values = 1 << code_columns;
constexpr size_t block_codes = 8;
constexpr size_t block_columns = block_codes * code_columns;
constexpr size_t code_step = 8;  // codes are stored times 8, so that they serve as offsets into a table

// The codes of `rows` factors from rows of zeros and ones, with ones for minus signs: block by block, `factors` apart.
//
// Code k of a block of n codes covers columns k, k + n, ..., k + 4n, so that eight codes are made at a time.
template <bool whole>
inline void pack_block(const std::uint8_t *negative, size_t rows, size_t columns, size_t rest, std::uint8_t *codes) {
    const size_t count = whole ? block_codes : (rest + code_columns - 1) / code_columns;
    for (size_t row = 0; row < rows; ++row, negative += columns, codes += block_codes) {
        std::uint64_t own = 0;
        for (size_t i = 0, begin = 0; i < code_columns; ++i, begin += count) {
            std::uint8_t next[block_codes] = {};
            for (size_t k = 0; k < count && (whole || begin + k < rest); ++k) next[k] = negative[begin + k];
            std::uint64_t eight;
            __builtin_memcpy(&eight, next, block_codes);
            own |= eight << (7 - i);
        }
        __builtin_memcpy(codes, &own, block_codes);
    }
}

void pack(const std::uint8_t *negative, size_t rows, size_t columns, std::uint8_t *codes, size_t factors) {
    size_t first = 0;
    for (; first + block_columns <= columns; first += block_columns, codes += factors * block_codes) {
        pack_block<true>(negative + first, rows, columns, block_columns, codes);
    }
    if (first < columns) pack_block<false>(negative + first, rows, columns, columns - first, codes);
}

// All 2^count sums of +-x[i], for columns `stride` apart.  A set bit means that x[i] is subtracted; the bit of x[0] is
// the highest.
template <class T, size_t count>
inline void signed_sums(const T *x, size_t stride, Vector<T> (&sums)[1 << count]) {
    sums[0] = load(x + (count - 1) * stride);
    sums[1] = -sums[0];
#pragma GCC unroll 4
    for (size_t i = 1; i < count; ++i) {
        const Vector<T> next = load(x + (count - 1 - i) * stride);
#pragma GCC unroll 8
        for (size_t j = 0; j < size_t(1) << i; ++j) {
            sums[j + (size_t(1) << i)] = sums[j] - next;
            sums[j] += next;
        }
    }
}

// The sums of five columns: those of the first register of a group, then those of the next.
template <class T>
inline void write_table(const T *x, size_t stride, T *table) {
    constexpr size_t lanes = Simd<T>::lanes;
    for (size_t r = 0; r < Group<T>::registers; ++r, x += lanes) {
        Vector<T> high[4], low[8];
        signed_sums<T, 2>(x, stride, high);
        signed_sums<T, 3>(x + 2 * stride, stride, low);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) {
#pragma GCC unroll 8
            for (size_t j = 0; j < 8; ++j, table += lanes) store<T>(table, high[i] + low[j]);
        }
    }
}

// Adds the table entries that the codes of a factor select from `count` tables to the sums of this factor.
template <class T, size_t count>
inline void look_up(const T *tables, const std::uint8_t *codes, Vector<T> (&sums)[Group<T>::registers]) {
    constexpr size_t lanes = Simd<T>::lanes, registers = Group<T>::registers;
    constexpr size_t scale = sizeof(Vector<T>) / code_step;
#pragma GCC unroll 8
    for (size_t k = 0; k < count; ++k) {
        const size_t place = codes[k] * scale;  // in bytes
#pragma GCC unroll 8
        for (size_t r = 0; r < registers; ++r) {
            const T *table = tables + (k * registers + r) * code_values * lanes;
            sums[r] += load(reinterpret_cast<const T *>(reinterpret_cast<const char *>(table) + place));
        }
    }
}

// The same for many factors.  Their sums either begin here or are added to.
template <class T, size_t count, bool begin>
void look_up_all(const T *tables, const std::uint8_t *codes, size_t factors, T *sums) {
    constexpr size_t lanes = Simd<T>::lanes, registers = Group<T>::registers;
    for (size_t f = 0; f < factors; ++f, codes += block_codes, sums += Group<T>::rows) {
        Vector<T> sum[registers];
#pragma GCC unroll 8
        for (size_t r = 0; r < registers; ++r) sum[r] = begin ? Vector<T>{} : load(sums + r * lanes);
        look_up<T, count>(tables, codes, sum);
#pragma GCC unroll 8
        for (size_t r = 0; r < registers; ++r) store(sums + r * lanes, sum[r]);
    }
}

template <class T, size_t most = block_codes>
inline void begin_sums(size_t count, const T *tables, const std::uint8_t *codes, size_t factors, T *sums) {
    if (count == most) {
        look_up_all<T, most, true>(tables, codes, factors, sums);
    } else if constexpr (most > 1) {
        begin_sums<T, most - 1>(count, tables, codes, factors, sums);
    }
}

// The factors of dense rows; codes have the shape (block of tables, factor, table).
//
// The last block, which is the only one that may have fewer than eight tables, is processed first.  The last but one is
// processed last: its tables are looked up while the factors are multiplied, which saves writing the sums once more.
template <class T>
struct DenseFactors {
    const T *X;
    size_t columns;
    const std::uint8_t *codes;
    size_t factors;
    T *turned;
    const std::uint8_t *open = nullptr;  // this stretch's codes of the block that has not been looked up yet
    // With a spare register, so that no byte can address memory beyond the end, even if it is not a code.
    alignas(64) T tables[block_codes * code_values * Group<T>::rows + Simd<T>::lanes] = {};

    void take(size_t first, size_t rows) {
        constexpr size_t lanes = Simd<T>::lanes;
        const size_t count = (columns + code_columns - 1) / code_columns * code_columns;
        for (size_t r = 0; r < Group<T>::rows; r += lanes) {
            gather<T>(X + (first + r) * columns, columns, r < rows ? rows - r : 0, columns, count, turned + r);
        }
    }

    // Sums `count` factors from number `first` on.  Returns whether a block is left open.
    bool sum(size_t first, size_t count, T *sums) {
        const size_t all = (columns + code_columns - 1) / code_columns, blocks = (all + block_codes - 1) / block_codes;
        begin_sums<T>(write_tables(blocks - 1, all), tables, codes_of(blocks - 1, first), count, sums);
        for (size_t block = 0; block + 1 < blocks; ++block) {
            write_tables(block, all);
            open = codes_of(block, first);
            if (block + 2 < blocks) look_up_all<T, block_codes, false>(tables, open, count, sums);
        }
        return blocks > 1;
    }

    template <bool opened>
    void finish(size_t factor, Vector<T> (&sums)[Group<T>::registers]) const {
        if constexpr (opened) look_up<T, block_codes>(tables, open + factor * block_codes, sums);
    }

   private:
    const std::uint8_t *codes_of(size_t block, size_t first) const {
        return codes + (block * factors + first) * block_codes;
    }

    // Returns the number of tables.
    size_t write_tables(size_t block, size_t all) {
        const size_t rest = all - block * block_codes, count = rest < block_codes ? rest : block_codes;
        const T *x = turned + block * block_columns * Group<T>::rows;
        for (size_t k = 0; k < count; ++k) {
            write_table<T>(x + k * Group<T>::rows, count * Group<T>::rows, tables + k * code_values * Group<T>::rows);
        }
        return count;
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

// The factors of CSR rows.  Their signs come in blocks of as many factors as 64 bytes have bits; no block spans two
// stretches.  Factor i of a block is bit i / words, counted from the highest, of word i % words.
template <class T>
struct SparseFactors {
    using Bits = typename Word<T>::type;
    typedef Bits BitVector __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    static constexpr size_t words = 64 / sizeof(T), block = words * 8 * sizeof(T), lanes = Simd<T>::lanes;
    static constexpr size_t held = MERCER_VECTOR_BYTES == 64 ? 16 : 8;  // sums of a row that fit in registers

    Rows<T> all;
    const Bits *bits;
    size_t start = 0, taken = 0;  // of the group
    size_t next = 0;              // block

    void take(size_t first, size_t rows) {
        start = first;
        taken = rows;
        next = 0;
    }

    bool sum(size_t, size_t count, T *sums) {
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
        return false;
    }

    template <bool>
    void finish(size_t, Vector<T> (&)[Group<T>::registers]) const {}

   private:
    // The factors of the bits from `bit` on, for the words in one register and the rows in one register.
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

// Feature i is weights[i] times the product of the next degrees[i] factors; if parts is 2 it is a complex number, in
// two columns.  Features come in stretches that begin at `borders`; `sums` holds the factors of one stretch.
template <class T>
struct Products {
    const std::int32_t *degrees;
    const T *weights;
    size_t parts;
    const std::int64_t *borders;
    size_t stretches;
    T *out;
    size_t stride, width;
    T *sums;

    // The first of `rows` rows with a feature that is not finite, or `rows`.
    template <class Factors>
    size_t write(Factors &factors, size_t rows) const {
        size_t finite = rows;
        for (size_t first = 0; first < rows; first += Group<T>::rows) {
            const size_t taken = rows - first < Group<T>::rows ? rows - first : Group<T>::rows;
            const size_t found = parts == 1 ? group<1>(factors, first, taken) : group<2>(factors, first, taken);
            if (found < taken && finite == rows) finite = first + found;
        }
        return finite;
    }

   private:
    static constexpr size_t lanes = Simd<T>::lanes, registers = Group<T>::registers;

    template <size_t parts, class Factors>
    size_t group(Factors &factors, size_t first, size_t taken) const {
        Finite<T> finite[registers];
        T *place = out + first * stride;
        factors.take(first, taken);
        size_t begin = 0;
        for (size_t c = 0; c < stretches; ++c) {
            const size_t from = static_cast<size_t>(borders[c]), to = static_cast<size_t>(borders[c + 1]);
            size_t count = 0;
            for (size_t i = from; i < to; ++i) count += parts * static_cast<size_t>(degrees[i]);
            if (factors.sum(begin, count, sums)) {
                columns<parts, true>(factors, from, to, taken, place, finite);
            } else {
                columns<parts, false>(factors, from, to, taken, place, finite);
            }
            begin += count;
        }
        for (size_t row = 0; row < taken; ++row) {
            if (finite[row / lanes].trace[row % lanes] != T(0)) return row;
        }
        return taken;
    }

    // The columns of the features from `from` to `to`.
    template <size_t parts, bool opened, class Factors>
    void columns(const Factors &factors, size_t from, size_t to, size_t rows, T *place, Finite<T> *finite) const {
        const size_t last = parts * to < width ? parts * to : width;
        size_t factor = 0;
        for (size_t i = from; i < to; i += lanes / parts) {
            alignas(64) T block[registers * lanes * lanes];
            const size_t end = to - i < lanes / parts ? to : i + lanes / parts;
            for (size_t j = i; j < end; ++j) {
                factor = one<parts, opened>(factors, j, factor, block + (j - i) * parts * lanes, finite);
            }
            for (size_t r = 0; r * lanes < rows; ++r) {
                scatter<T>(block + r * lanes * lanes, rows - r * lanes, last - parts * i,
                           place + r * lanes * stride + parts * i, stride);
            }
        }
    }

    // Writes feature i, whose factors begin with this one, to its columns.  Returns the number of the next factor.
    template <size_t parts, bool opened, class Factors>
    size_t one(const Factors &factors, size_t i, size_t factor, T *columns, Finite<T> *finite) const {
        Vector<T> product[parts][registers];
        for (size_t part = 0; part < parts; ++part) {
            for (size_t r = 0; r < registers; ++r) product[part][r] = Vector<T>{} + weights[parts * i + part];
        }
        for (std::int32_t s = 0; s < degrees[i]; ++s, factor += parts) {
            Vector<T> sum[parts][registers];
            for (size_t part = 0; part < parts; ++part) {
                const T *from = sums + (factor + part) * Group<T>::rows;
                for (size_t r = 0; r < registers; ++r) sum[part][r] = load(from + r * lanes);
                factors.template finish<opened>(factor + part, sum[part]);
            }
            for (size_t r = 0; r < registers; ++r) {
                const Vector<T> real = product[0][r];
                product[0][r] *= sum[0][r];
                if constexpr (parts == 2) {
                    product[0][r] -= product[1][r] * sum[1][r];
                    product[1][r] = real * sum[1][r] + product[1][r] * sum[0][r];
                }
            }
        }
        for (size_t part = 0; part < parts; ++part) {
            for (size_t r = 0; r < registers; ++r) {
                finite[r].see(product[part][r]);
                store(columns + (r * lanes + part) * lanes, product[part][r]);
            }
        }
        return factor;
    }
};

// The next address that begins a cache line: tables and sums that straddle two lines would take twice as long to read.
template <class T>
inline T *line(T *scratch) {
    return reinterpret_cast<T *>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 * 64);
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_SIGNS(suffix, T)                                                                                       \
    void pack_signs_##suffix(const std::uint8_t *negative, size_t rows, size_t columns, std::uint8_t *codes,          \
                             size_t factors) {                                                                        \
        pack(negative, rows, columns, codes, factors);                                                                \
    }                                                                                                                 \
    size_t sign_products_##suffix(const T *X, size_t rows, size_t columns, const std::uint8_t *codes,                 \
                                  const std::int32_t *degrees, const T *weights, size_t parts,                        \
                                  const std::int64_t *borders, size_t stretches, size_t factors, size_t most, T *out, \
                                  size_t stride, size_t width, T *scratch) {                                          \
        T *sums = line(scratch);                                                                                      \
        DenseFactors<T> all{X, columns, codes, factors, sums + most * Group<T>::rows};                                \
        return Products<T>{degrees, weights, parts, borders, stretches, out, stride, width, sums}.write(all, rows);   \
    }                                                                                                                 \
    size_t sparse_sign_products_##suffix(const T *values, const void *indices, size_t index_bytes,                    \
                                         const std::int64_t *starts, size_t rows, size_t columns, const void *bits,   \
                                         const std::int32_t *degrees, const T *weights, size_t parts,                 \
                                         const std::int64_t *borders, size_t stretches, T *out, size_t stride,        \
                                         size_t width, T *scratch) {                                                  \
        SparseFactors<T> all{{values, indices, index_bytes, starts, rows, columns},                                   \
                             static_cast<const typename Word<T>::type *>(bits)};                                      \
        T *sums = line(scratch);                                                                                      \
        return Products<T>{degrees, weights, parts, borders, stretches, out, stride, width, sums}.write(all, rows);   \
    }

MERCER_SIGNS(f32, float)
MERCER_SIGNS(f64, double)

}  // namespace mercer::MERCER_ISA
