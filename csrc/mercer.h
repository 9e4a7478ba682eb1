/* The compiled core of mercer: plain C, so that one build serves every Python. */
#ifndef MERCER_H
#define MERCER_H

#include <stddef.h>

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
 * from any number of threads on disjoint rows. */
typedef struct {
    /* Each of the `rows` consecutive rows of `width` numbers (a power of two) becomes H times itself. */
    void (*hadamard_f32)(float *data, size_t rows, size_t width);
    void (*hadamard_f64)(double *data, size_t rows, size_t width);
} mercer_kernels;

/* Whether this build contains the instruction set `name` and this machine can run it. */
MERCER_EXPORT int mercer_isa_supported(const char *name);

/* The kernels of an instruction set, or NULL where it is not supported. */
MERCER_EXPORT const mercer_kernels *mercer_isa_kernels(const char *name);

#ifdef __cplusplus
}
#endif

#endif
