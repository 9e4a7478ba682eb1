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

/* The hot kernels of one instruction set; src/mercer/_core.py mirrors this struct field by field.
 *
 * Kernels keep no state, allocate nothing and never fail: the caller has checked shapes and alignment, and may run them
 * from any number of threads on disjoint rows.  What a kernel returns is the first row of which an output overflowed, or
 * `rows` where none did. */
typedef struct {
    /* Each of the `rows` consecutive rows of `width` numbers (a power of two) becomes H times itself. */
    void (*hadamard_f32)(float *data, size_t rows, size_t width);
    void (*hadamard_f64)(double *data, size_t rows, size_t width);

    /* Fourier features of `rows` rows of `count` phases p: the first width - count phases make pairs scale cos p,
     * scale sin p, the others one feature scale cos(p + offset) each, with one offset for all (period 1) or one for
     * each.  `longest` gets the largest |p| of every row; beyond 4096 (f32) or 2^22 (f64) its features are worthless. */
    void (*waves_f32)(const float *phases, size_t rows, size_t count, const float *offset, size_t period, size_t width,
                      float scale, float *out, float *longest);
    void (*waves_f64)(const double *phases, size_t rows, size_t count, const double *offset, size_t period,
                      size_t width, double scale, double *out, double *longest);

    /* Fourier features of rows of n numbers, padded to `size`: phases are radii H D3 H D2 H D1 x, with three vectors of
     * `size` signs a block.  `scratch` has room for all blocks. */
    void (*structured_f32)(const float *X, size_t rows, size_t n, const float *signs, size_t size, const float *radii,
                           size_t count, const float *offset, size_t width, float scale, float *out, float *longest,
                           float *scratch);
    void (*structured_f64)(const double *X, size_t rows, size_t n, const double *signs, size_t size,
                           const double *radii, size_t count, const double *offset, size_t width, double scale,
                           double *out, double *longest, double *scratch);

    /* The same with phases radii H G P H B x.  `scratch` has room for all blocks and one more. */
    void (*fastfood_f32)(const float *X, size_t rows, size_t n, const float *signs, const int32_t *orders,
                         const float *directions, size_t size, const float *radii, size_t count, const float *offset,
                         size_t width, float scale, float *out, float *longest, float *scratch);
    void (*fastfood_f64)(const double *X, size_t rows, size_t n, const double *signs, const int32_t *orders,
                         const double *directions, size_t size, const double *radii, size_t count,
                         const double *offset, size_t width, double scale, double *out, double *longest,
                         double *scratch);

    /* Features scale (Re z, Im z, ...) of z = product over s of H sketch_s(x), the sketches complex: entry j of a row
     * goes, times signs[s][j], to place places[s][j] of `size` real parts followed by `size` imaginary ones; so does
     * `constant` as entry number `columns`.  Rows are dense where index_bytes is 0, else CSR with indices of so many
     * bytes and starts[rows + 1] into values.  `scratch` has room for 4 size numbers. */
    size_t (*hadamard_sketch_f32)(const float *values, const void *indices, size_t index_bytes, const int64_t *starts,
                                  size_t rows, size_t columns, const int32_t *places, const float *signs, size_t degree,
                                  size_t size, float constant, float scale, size_t width, float *out, float *scratch);
    size_t (*hadamard_sketch_f64)(const double *values, const void *indices, size_t index_bytes, const int64_t *starts,
                                  size_t rows, size_t columns, const int32_t *places, const double *signs,
                                  size_t degree, size_t size, double constant, double scale, size_t width, double *out,
                                  double *scratch);

    /* Features scale (Re z, Im z, ...) of z = product over s of the outputs outputs[s] of H diag(signs) x, for rows of n
     * numbers padded to `size`: signs[block][s] are n real and n imaginary parts, and features come in blocks of `size`.
     * `scratch` has room for 2 size + 2 (width + 1) numbers. */
    size_t (*srht_f32)(const float *X, size_t rows, size_t n, const float *signs, size_t degree, size_t size,
                       const int32_t *outputs, size_t width, float scale, float *out, float *scratch);
    size_t (*srht_f64)(const double *X, size_t rows, size_t n, const double *signs, size_t degree, size_t size,
                       const int32_t *outputs, size_t width, double scale, double *out, double *scratch);

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
} mercer_kernels;

/* Whether this build contains the instruction set `name` and this machine can run it. */
MERCER_EXPORT int mercer_isa_supported(const char *name);

/* The kernels of an instruction set, or NULL where it is not supported. */
MERCER_EXPORT const mercer_kernels *mercer_isa_kernels(const char *name);

#ifdef __cplusplus
}
#endif

#endif
