/* The compiled core of mercer behind a plain C interface, so that one build serves every version of Python.
 *
 * The library describes itself: mercer_functions() gives the functions listed in kernels.h with their signatures, and
 * the structs that they take.  Python keeps no copy of either. */
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

/* The structs that functions take, by their fields. */
#define MERCER_FIELD(type, name) type name;

/* Dense rows of `columns` numbers (index_bytes 0), or CSR rows with indices of that many bytes and starts into values;
 * a kernel may add an entry `constant` to every row. */
#define MERCER_ROWS(FIELD)         \
    FIELD(const void *, values)    \
    FIELD(const void *, indices)   \
    FIELD(size_t, index_bytes)     \
    FIELD(const int64_t *, starts) \
    FIELD(size_t, columns)         \
    FIELD(double, constant)

/* What was found in text in the format of LIBSVM: rows and entries so far, the smallest and the largest index, the
 * line, counted from 0, and where the text that is wrong begins. */
#define MERCER_LIBSVM_FOUND(FIELD) \
    FIELD(int64_t, rows)           \
    FIELD(int64_t, entries)        \
    FIELD(int64_t, least)          \
    FIELD(int64_t, most)           \
    FIELD(int64_t, line)           \
    FIELD(int64_t, offset)

typedef struct {
    MERCER_ROWS(MERCER_FIELD)
} mercer_rows;

typedef struct {
    MERCER_LIBSVM_FOUND(MERCER_FIELD)
} mercer_libsvm_found;

/* What is wrong with text in the format of LIBSVM; src/mercer/_core/_libsvm.py has the messages, in this order. */
enum {
    MERCER_LIBSVM_FINE,
    MERCER_LIBSVM_LABEL,    /* no number in place of the label */
    MERCER_LIBSVM_LABELS,   /* several labels */
    MERCER_LIBSVM_ENTRY,    /* not of the form index:value */
    MERCER_LIBSVM_NEGATIVE, /* a negative index */
    MERCER_LIBSVM_INDEX,    /* an index of more than 18 digits */
    MERCER_LIBSVM_BASE,     /* an index below the first one */
    MERCER_LIBSVM_ORDER,    /* an index below the one before */
    MERCER_LIBSVM_TWICE,    /* the same index twice */
    MERCER_LIBSVM_VALUE     /* no number in place of the value */
};

/* A function or a struct.
 *
 * `types` has one letter per type, that of the result of a function first: P for a pointer, N for size_t, q for
 * int64_t, i for int, f for float, d for double and v for void.  `declaration` is the entry of kernels.h as it was
 * written, or the names of the fields of a struct, whose `function` is null. */
typedef struct {
    const char *name, *types, *declaration;
    void (*function)(void);
} mercer_entry;

/* The functions and structs of an instruction set (avx512, avx2 or baseline), closed by an entry without a name; NULL
 * if this build does not contain the instruction set, or this machine cannot run it. */
MERCER_EXPORT const mercer_entry *mercer_functions(const char *isa);

#ifdef __cplusplus
}
#endif

#endif
