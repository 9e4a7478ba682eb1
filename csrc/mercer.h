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

    /* Fourier features of rows of n numbers, padded to `size` (at least 64): phases are radii H D3 H D2 H D1 x, with
     * three vectors of `size` signs a block.  They make pairs and, where the width is odd, one cosine with the offset;
     * radii and offset are in half turns, `longest` in radians.  `scratch` has room for a block, and for 16 KiB. */
    void (*structured_f32)(const float *X, size_t rows, size_t n, const float *signs, size_t size, const float *radii,
                           const float *offset, size_t width, float scale, float *out, float *longest, float *scratch);
    void (*structured_f64)(const double *X, size_t rows, size_t n, const double *signs, size_t size,
                           const double *radii, const double *offset, size_t width, double scale, double *out,
                           double *longest, double *scratch);

    /* The same with phases radii H G P H B x, blocks of any size.  After the last sign, order and direction come 16 more
     * that are read for nothing.  `scratch` has room for 48 bytes times `size`, which counts as 16 where it is less. */
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
     * outputs outputs[s] of H diag(signs) x.  A row x has n numbers, `constant` unless that is 0, and zeros up to `size`;
     * signs[block][s] are `size` real and `size` imaginary parts, with 16 more numbers at the end of all, and features
     * come in blocks of `size`.  `outputs` has `stride` indices, 16 more than features, for each s; rows of features are
     * `out_stride` numbers apart.  `scratch` has room for 80 bytes times `size`, which counts as 16 where it is less. */
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

    /* Features scale (H diag(signs) x)[outputs], `width` of them, of rows of n numbers and zeros up to `size`.  `scratch`
     * has room for `size` numbers. */
    size_t (*craft_f32)(const float *X, size_t rows, size_t n, const float *signs, size_t size, const int32_t *outputs,
                        size_t width, float scale, float *out, float *scratch);
    size_t (*craft_f64)(const double *X, size_t rows, size_t n, const double *signs, size_t size,
                        const int32_t *outputs, size_t width, double scale, double *out, double *scratch);
} mercer_kernels;

/* Whether this build contains the instruction set `name` and this machine can run it. */
MERCER_EXPORT int mercer_isa_supported(const char *name);

/* The kernels of an instruction set, or NULL where it is not supported. */
MERCER_EXPORT const mercer_kernels *mercer_isa_kernels(const char *name);

#ifdef __cplusplus
}
#endif

#endif
