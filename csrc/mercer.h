/* The compiled core of mercer: plain C, so that one build serves every Python. */
#ifndef MERCER_H
#define MERCER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define MERCER_EXPORT __declspec(dllexport)
#else
#define MERCER_EXPORT __attribute__((visibility("default")))
#endif

/* Dense rows of `columns` numbers (index_bytes 0), or CSR rows with indices of so many bytes and starts into values; a
 * kernel may add an entry `constant` to every row. */
typedef struct {
    const void *values, *indices;
    size_t index_bytes;
    const int64_t *starts;
    size_t columns;
    double constant;
} mercer_rows;

/* The hot kernels of one instruction set; src/mercer/_core/_library.py mirrors this struct field by field.
 *
 * Kernels keep no state, allocate nothing and never fail: the caller has checked shapes and alignment, and may run them
 * from any number of threads on disjoint rows.  What a kernel returns is the first row of which an output overflowed,
 * or `rows` where none did. */
typedef struct {
    /* Each of the `rows` consecutive rows of `width` numbers (a power of two) becomes H times itself. */
    void (*hadamard_f32)(float *data, size_t rows, size_t width);
    void (*hadamard_f64)(double *data, size_t rows, size_t width);

    /* Fourier features of `rows` rows of `count` phases p: the first width - count phases make pairs scale cos p, scale
     * sin p, the others one feature scale cos(p + offset) each, with one offset for all (period 1) or one for each.
     * `longest` gets the largest |p| of every row; beyond 4096 (f32) or 2^22 (f64) its features are worthless. */
    void (*waves_f32)(const float *phases, size_t rows, size_t count, const float *offset, size_t period, size_t width,
                      float scale, float *out, float *longest);
    void (*waves_f64)(const double *phases, size_t rows, size_t count, const double *offset, size_t period,
                      size_t width, double scale, double *out, double *longest);

    /* Fourier features of rows of n numbers, padded to `size` (at least 64): phases are radii H D3 H D2 H D1 x, with
     * three vectors of `size` signs a block.  They make pairs and, where the width is odd, one cosine with the offset;
     * radii and offset are in half turns, `longest` in radians.  `scratch` has room for a block, and for 16 KiB. */
    void (*structured_f32)(const float *X, size_t rows, size_t n, const float *signs, size_t size, const float *radii,
                           const float *offset, size_t width, float scale, float *out, float *longest, float *scratch);
    void (*structured_f64)(const double *X, size_t rows, size_t n, const double *signs, size_t size,
                           const double *radii, const double *offset, size_t width, double scale, double *out,
                           double *longest, double *scratch);

    /* The same with phases radii H G P H B x, blocks of any size.  After the last sign, order and direction come 16
     * more that are read for nothing.  `scratch` has room for 48 bytes times `size`, which counts as 16 where it is
     * less. */
    void (*fastfood_f32)(const float *X, size_t rows, size_t n, const float *signs, const int32_t *orders,
                         const float *directions, size_t size, const float *radii, const float *offset, size_t width,
                         float scale, float *out, float *longest, float *scratch);
    void (*fastfood_f64)(const double *X, size_t rows, size_t n, const double *signs, const int32_t *orders,
                         const double *directions, size_t size, const double *radii, const double *offset,
                         size_t width, double scale, double *out, double *longest, double *scratch);

    /* Features scale (Re z, Im z, ...) of z = product over s of H sketch_s(x), the sketches complex: entry j of a row
     * goes, times signs[s][j], to place places[s][j] of `size` real parts followed by `size` imaginary ones; so does
     * `constant` as entry number `columns`.  Rows are dense where index_bytes is 0, else CSR with indices of so many
     * bytes and starts[rows + 1] into values.  `scratch` has room for 16 bytes times 4 size + columns. */
    size_t (*hadamard_sketch_f32)(const float *values, const void *indices, size_t index_bytes, const int64_t *starts,
                                  size_t rows, size_t columns, const int32_t *places, const float *signs, size_t degree,
                                  size_t size, float constant, float scale, size_t width, float *out, float *scratch);
    size_t (*hadamard_sketch_f64)(const double *values, const void *indices, size_t index_bytes, const int64_t *starts,
                                  size_t rows, size_t columns, const int32_t *places, const double *signs,
                                  size_t degree, size_t size, double constant, double scale, size_t width, double *out,
                                  double *scratch);

    /* Features scale scales[row] (Re z, Im z, ...), the scales 1 where there are none, of z = product over s of the
     * outputs outputs[s] of H diag(signs) x.  A row x has n numbers, `constant` unless that is 0, and zeros up to
     * `size`; signs[block][s] are `size` real and `size` imaginary parts, with 16 more numbers at the end of all, and
     * features come in blocks of `size`.  `outputs` has `stride` indices, 16 more than features, for each s; rows of
     * features are `out_stride` numbers apart.  `scratch` has room for 80 bytes times `size`, which counts as 16 where
     * it is less. */
    size_t (*srht_f32)(const float *X, size_t rows, size_t n, float constant, const float *signs, size_t degree,
                       size_t size, const int32_t *outputs, size_t stride, size_t width, float scale,
                       const float *scales, float *out, size_t out_stride, float *scratch);
    size_t (*srht_f64)(const double *X, size_t rows, size_t n, double constant, const double *signs, size_t degree,
                       size_t size, const int32_t *outputs, size_t stride, size_t width, double scale,
                       const double *scales, double *out, size_t out_stride, double *scratch);

    /* Features of the product of the Fourier transforms of `degree` count sketches of even width: entry j of a row of
     * factor s goes, times signs[s][j], to bucket places[s][j] (`stride` numbers from one factor to the next), and so
     * does the factor's constant as entry number `columns`.  Width / 2 is the product of the `radices` (2, 3, 4, 5, 8),
     * turns and order are those of csrc/fft.h, halves those of csrc/tensor.cpp.  Features are the half spectrum as real
     * numbers, or in_time its inverse transform times width / 2, times scale.  `scratch` has room for 2 width + columns
     * (those of the widest factor) numbers a lane, of which a register has 64 bytes' worth at most. */
    size_t (*tensor_sketch_f32)(const mercer_rows *factors, size_t degree, size_t rows, const int32_t *places,
                                const float *signs, size_t stride, size_t width, const int32_t *radices,
                                const float *turns, const float *halves, const int32_t *order, size_t in_time,
                                float scale, float *out, float *scratch);
    size_t (*tensor_sketch_f64)(const mercer_rows *factors, size_t degree, size_t rows, const int32_t *places,
                                const double *signs, size_t stride, size_t width, const int32_t *radices,
                                const double *turns, const double *halves, const int32_t *order, size_t in_time,
                                double scale, double *out, double *scratch);

    /* Features of dense rows: feature i is weights[i] times the product of the next degrees[i] of `factors` factors
     * <signs, x>.  Where parts is 2 all these are complex, in parts, and a feature takes two columns.  `codes` has, for
     * each 40 columns of x, eight bytes for every factor: the signs (1 for minus) of column k, k + 8, ..., k + 32 are
     * the five highest bits of byte k, the first one highest; of m columns that are left over at the end, those of k,
     * k + n, ..., k + 4n, n = m / 5 rounded up.  Chunk c has the features from borders[c] to borders[c + 1] and at most
     * `most` factors.  `width` columns are written of rows that are `stride` apart.  `scratch` has room for 64 bytes,
     * and 128 for each of `most` factors and of the columns, rounded up to fives. */
    size_t (*sign_products_f32)(const float *X, size_t rows, size_t columns, const uint8_t *codes,
                                const int32_t *degrees, const float *weights, size_t parts, const int64_t *borders,
                                size_t chunks, size_t factors, size_t most, float *out, size_t stride, size_t width,
                                float *scratch);
    size_t (*sign_products_f64)(const double *X, size_t rows, size_t columns, const uint8_t *codes,
                                const int32_t *degrees, const double *weights, size_t parts, const int64_t *borders,
                                size_t chunks, size_t factors, size_t most, double *out, size_t stride, size_t width,
                                double *scratch);

    /* Such codes, the same for both types, from `rows` rows of `columns` bytes, 1 where a sign is minus, else 0;
     * `codes` is where that of the first row goes in an array for `factors` factors. */
    void (*pack_signs_f32)(const uint8_t *negative, size_t rows, size_t columns, uint8_t *codes, size_t factors);
    void (*pack_signs_f64)(const uint8_t *negative, size_t rows, size_t columns, uint8_t *codes, size_t factors);

    /* Such features of CSR rows.  The factors of a chunk come in blocks of 512, the last one filled up; `bits` has 64
     * bytes for every block and column: words as wide as a number, in which factor i of the block has bit i / words,
     * counted from the highest, of word i % words.  `scratch` has room for 64 bytes, and 128 for every factor of the
     * longest chunk, in whole blocks. */
    size_t (*sparse_sign_products_f32)(const float *values, const void *indices, size_t index_bytes,
                                       const int64_t *starts, size_t rows, size_t columns, const void *bits,
                                       const int32_t *degrees, const float *weights, size_t parts,
                                       const int64_t *borders, size_t chunks, float *out, size_t stride,
                                       size_t width, float *scratch);
    size_t (*sparse_sign_products_f64)(const double *values, const void *indices, size_t index_bytes,
                                       const int64_t *starts, size_t rows, size_t columns, const void *bits,
                                       const int32_t *degrees, const double *weights, size_t parts,
                                       const int64_t *borders, size_t chunks, double *out, size_t stride,
                                       size_t width, double *scratch);

    /* Features of `count` values x >= 0, each 2 order + 1 neighbours: weights[0] root(x), then weights[2j - 1] root(x)
     * cos(p) and weights[2j] root(x) sin(p), p = j frequencies[0] log x, for j = 1 ... order; all 0 where x is.  The
     * first value that is negative or not finite, or `count`. */
    size_t (*additive_f32)(const float *values, size_t count, const double *frequencies, size_t order,
                           const double *weights, float *out);
    size_t (*additive_f64)(const double *values, size_t count, const double *frequencies, size_t order,
                           const double *weights, double *out);

    /* Features scale (H diag(signs) x)[outputs], `width` of them, of rows of n numbers and zeros up to `size`.
     * `scratch` has room for `size` numbers. */
    size_t (*craft_f32)(const float *X, size_t rows, size_t n, const float *signs, size_t size, const int32_t *outputs,
                        size_t width, float scale, float *out, float *scratch);
    size_t (*craft_f64)(const double *X, size_t rows, size_t n, const double *signs, size_t size,
                        const int32_t *outputs, size_t width, double scale, double *out, double *scratch);

    /* The columns of additive features: column c becomes `width` neighbours from c width on.  Columns have the size of
     * a float or a double. */
    void (*spread_f32)(const uint32_t *columns, size_t count, size_t width, uint32_t *out);
    void (*spread_f64)(const uint64_t *columns, size_t count, size_t width, uint64_t *out);

    /* A matrix of n rows less an origin, which is taken from each of its columns, as the products below read it: in an
     * order that is the instruction set's own.  Neighbours in a column are row_step numbers apart, those in a row
     * column_step.  `panels` has room for n times the columns, these rounded up to a multiple of 32. */
    void (*pack_f32)(const double *matrix, size_t n, size_t columns, size_t row_step, size_t column_step,
                     const double *origin, float *panels);
    void (*pack_f64)(const double *matrix, size_t n, size_t columns, size_t row_step, size_t column_step,
                     const double *origin, double *panels);

    /* The products of rows of n numbers with the columns of such a matrix.  `scratch` has room for 640 KiB. */
    size_t (*product_f32)(const float *X, size_t rows, size_t n, const float *panels, size_t columns, float *out,
                          float *scratch);
    size_t (*product_f64)(const double *X, size_t rows, size_t n, const double *panels, size_t columns, double *out,
                          double *scratch);

    /* The features waves() of the products of dense or CSR rows with such a matrix of `count` columns, the phases.
     * `scratch` as above. */
    void (*matrix_waves_f32)(const float *values, const void *indices, size_t index_bytes, const int64_t *starts,
                             size_t rows, size_t n, const float *panels, size_t count, const float *offset,
                             size_t period, size_t width, float scale, float *out, float *longest, float *scratch);
    void (*matrix_waves_f64)(const double *values, const void *indices, size_t index_bytes, const int64_t *starts,
                             size_t rows, size_t n, const double *panels, size_t count, const double *offset,
                             size_t period, size_t width, double scale, double *out, double *longest,
                             double *scratch);

    /* out = (x - offset) factor for the n columns of every row.  The first row with a number that is not finite, or
     * `rows`. */
    size_t (*scaled_f32)(const float *X, size_t rows, size_t n, const float *offset, const float *factor, float *out);
    size_t (*scaled_f64)(const double *X, size_t rows, size_t n, const double *offset, const double *factor,
                         double *out);

    /* The products of rows of n numbers with `count` columns, each of which is a row of `columns`. */
    void (*narrow_f32)(const float *Z, size_t rows, size_t n, const float *columns, size_t count, float *out);
    void (*narrow_f64)(const double *Z, size_t rows, size_t n, const double *columns, size_t count, double *out);

    /* `count` rows of n sums, to each of which the rows of Z are added times their weights, `count` of them a row. */
    void (*narrow_transposed_f32)(const float *Z, size_t rows, size_t n, const float *weights, size_t count,
                                  float *sums);
    void (*narrow_transposed_f64)(const double *Z, size_t rows, size_t n, const double *weights, size_t count,
                                  double *sums);

    /* The kernels from here on are for doubles alone: exact kernels are computed in no other type.
     *
     * Inner products `values` of `rows` rows of X and `others` rows of Y, both shifted by the same vector, become
     * squared distances s (shape 0), exp(-scale s) (1), or with z = scale root(s) Matern's exp(-z) (2), (1 + z) exp(-z)
     * (3) and (1 + z + z^2 / 3) exp(-z) (4).  The norms are squared ones after the shift; where rows are so near that
     * digits have cancelled, the distance is taken of the rows themselves. */
    void (*radial_f64)(double *values, size_t rows, size_t others, const double *X, const double *Y, size_t columns,
                       const double *norms_x, const double *norms_y, size_t shape, double scale);

    /* For every row x of X and y of Y a sum or product over the columns, by its number `term`: the sum of min(x, y)
     * (0), |x - y| (1), 2 x y / (x + y) (2) or Jensen and Shannon's term (3); one over the product of 1 + scale^2 (x -
     * y)^2 (4) or cosh((u - v) / 2) (5).  X comes by rows, Y by columns of `stride` numbers, a multiple of 16 and at
     * least `others`.  Terms 3 and 5 have a second number for each: log(x) / log 4 (any for x = 0) beside x, and exp(-u
     * / 2) / sqrt(2) beside exp(u). */
    void (*pairs_f64)(const double *X, const double *second_X, size_t rows, const double *Y, const double *second_Y,
                      size_t others, size_t stride, size_t columns, size_t term, double scale, double *out);
} mercer_kernels;

/* Whether this build contains the instruction set `name` and this machine can run it. */
MERCER_EXPORT int mercer_isa_supported(const char *name);

/* The kernels of an instruction set, or NULL where it is not supported. */
MERCER_EXPORT const mercer_kernels *mercer_isa_kernels(const char *name);

/* What is wrong with text in the format of LIBSVM; src/mercer/_core/_libsvm.py has the words. */
enum {
    MERCER_LIBSVM_FINE,
    MERCER_LIBSVM_LABEL,    /* no number where the label should be */
    MERCER_LIBSVM_LABELS,   /* several labels */
    MERCER_LIBSVM_ENTRY,    /* not of the form index:value */
    MERCER_LIBSVM_NEGATIVE, /* a negative index */
    MERCER_LIBSVM_INDEX,    /* an index of more than 18 digits */
    MERCER_LIBSVM_BASE,     /* an index below the first one */
    MERCER_LIBSVM_ORDER,    /* an index below the one before */
    MERCER_LIBSVM_TWICE,    /* an index twice */
    MERCER_LIBSVM_VALUE     /* no number where the value should be */
};

/* Rows and entries so far, the least and the largest index, the line, counted from 0, and where the text that is wrong
 * begins. */
typedef struct {
    int64_t rows, entries, least, most, line, offset;
} mercer_libsvm_found;

/* How often a letter comes. */
MERCER_EXPORT size_t mercer_count(const char *text, size_t size, int letter);

/* Reads rows of "label index:value ...", one a line; the last of the `size` bytes is a line break.  `base` is taken off
 * indices, which are written in `index_bytes` (4 or 8), as are the starts of rows among entries.  There must be room
 * for as many labels as line breaks, a start more, and as many entries as colons.  Without labels, rows and entries are
 * counted, and values are not looked at. */
MERCER_EXPORT int mercer_libsvm(const char *text, size_t size, int64_t base, size_t index_bytes, double *labels,
                                void *starts, void *indices, double *values, mercer_libsvm_found *found);

#ifdef __cplusplus
}
#endif

#endif
