/* The list of all compiled functions, and the only place where one is declared.
 *
 * The file is included several times, with macros that say what to make of an entry: declarations.h declares the
 * functions, table.h puts them, with their signatures, into the table from which Python calls them.
 *
 *   KERNEL(result, name, arguments)      a kernel that is compiled for every instruction set, for float and for double;
 *                                        T is the type, Unsigned the unsigned integer of the same size
 *   KERNEL_F64(result, name, arguments)  the same for double alone
 *   FUNCTION(result, name, arguments)    a function that is compiled once
 *
 * Arguments are pointers, size_t, int64_t, int, T, float or double; results may also be void.
 *
 * Kernels keep no state, allocate nothing and never fail.  The caller has checked shapes and alignment, and may run
 * them from any number of threads on disjoint rows.  Unless its comment says otherwise, a kernel returns the first row
 * in which an output overflowed, or `rows` if there is none. */

/* Replaces each of `rows` consecutive rows of `width` numbers (a power of two) by H times itself. */
KERNEL(void, hadamard, (T *data, size_t rows, size_t width))

/* Fourier features of `rows` rows of `count` phases p.  The first width - count phases give the pair scale cos p,
 * scale sin p each; every other phase gives the single feature scale cos(p + offset), with one offset for all of
 * them (period 1) or one for each.  `longest` receives the largest |p| of every row; beyond 4096 (float) or 2^22
 * (double) the features of that row are worthless. */
KERNEL(void, waves,
       (const T *phases, size_t rows, size_t count, const T *offset, size_t period, size_t width, T scale, T *out,
        T *longest))

/* Fourier features of rows of n numbers, padded with zeros to `size` (at least 64).  The phases are radii H D3 H D2
 * H D1 x, with three vectors of `size` signs per block.  They give pairs and, if the width is odd, one last cosine
 * with the offset.  Radii and offset are in half turns, `longest` is in radians.  `scratch` holds one block, and at
 * least 16 KiB. */
KERNEL(void, structured,
       (const T *X, size_t rows, size_t n, const T *signs, size_t size, const T *radii, const T *offset, size_t width,
        T scale, T *out, T *longest, T *scratch))

/* The same with phases radii H G P H B x and blocks of any size.  The last sign, order and direction are each
 * followed by 16 numbers that are read but not used.  `scratch` holds 48 bytes times the larger of `size` and 16. */
KERNEL(void, fastfood,
       (const T *X, size_t rows, size_t n, const T *signs, const int32_t *orders, const T *directions, size_t size,
        const T *radii, const T *offset, size_t width, T scale, T *out, T *longest, T *scratch))

/* Features scale (Re z, Im z, ...) of z, the product over s of H sketch_s(x) with complex count sketches.  Entry j
 * of a row is multiplied by signs[s][j] and added to bucket places[s][j] among `size` real parts followed by `size`
 * imaginary ones; `constant` counts as entry number `columns`.  Rows are dense if index_bytes is 0, otherwise CSR
 * with indices of that many bytes and starts[rows + 1] into values.  `scratch` holds 16 bytes times 4 size +
 * columns. */
KERNEL(size_t, hadamard_sketch,
       (const T *values, const void *indices, size_t index_bytes, const int64_t *starts, size_t rows, size_t columns,
        const int32_t *places, const T *signs, size_t degree, size_t size, T constant, T scale, size_t width, T *out,
        T *scratch))

/* Features scale scales[row] (Re z, Im z, ...), where the scales are 1 if the pointer is null, of z, the product
 * over s of the outputs outputs[s] of H diag(signs) x.  A row x has n numbers, then `constant` unless that is 0,
 * then zeros up to `size`.  signs[block][s] has `size` real and `size` imaginary parts, and all signs are followed
 * by 16 more numbers; features come in blocks of `size`.  For each s, `outputs` has `stride` indices, 16 more than
 * there are features.  Rows of features are `out_stride` numbers apart.  `scratch` holds 80 bytes times the larger
 * of `size` and 16. */
KERNEL(size_t, srht,
       (const T *X, size_t rows, size_t n, T constant, const T *signs, size_t degree, size_t size,
        const int32_t *outputs, size_t stride, size_t width, T scale, const T *scales, T *out, size_t out_stride,
        T *scratch))

/* Features of the product of the Fourier transforms of `degree` count sketches of even width.  Entry j of a row of
 * factor s is multiplied by signs[s][j] and added to bucket places[s][j] (the tables of two factors are `stride`
 * numbers apart); the factor's constant counts as entry number `columns`.  Width / 2 is the product of the `radices`
 * (2, 3, 4, 5, 8); `turns` and `order` are described in fft.h, `halves` in tensor.cpp.  Features are the half
 * spectrum as real numbers or, if in_time is not 0, its inverse transform times width / 2; both times scale.
 * `scratch` holds 2 width + columns (of the widest factor) numbers per lane of a register, which has at most 64
 * bytes. */
KERNEL(size_t, tensor_sketch,
       (const mercer_rows *factors, size_t degree, size_t rows, const int32_t *places, const T *signs, size_t stride,
        size_t width, const int32_t *radices, const T *turns, const T *halves, const int32_t *order, size_t in_time,
        T scale, T *out, T *scratch))

/* Features of dense rows: feature i is weights[i] times the product of the next degrees[i] of `factors` factors
 * <signs, x>.  If parts is 2, weights and factors are complex, stored as real and imaginary part, and a feature
 * takes two columns.  For every 40 columns of x, `codes` has eight bytes per factor: the five highest bits of byte
 * k, from the highest down, are the signs (1 for minus) of columns k, k + 8, ..., k + 32; among m columns left over
 * at the end they are those of k, k + n, ..., k + 4n with n = m / 5 rounded up.  Stretch c consists of the features
 * from borders[c] to borders[c + 1], with at most `most` factors.  `width` columns are written, in rows that are
 * `stride` apart.  `scratch` holds 64 bytes, and 128 for each of `most` factors and each column, their number
 * rounded up to a multiple of five. */
KERNEL(size_t, sign_products,
       (const T *X, size_t rows, size_t columns, const uint8_t *codes, const int32_t *degrees, const T *weights,
        size_t parts, const int64_t *borders, size_t stretches, size_t factors, size_t most, T *out, size_t stride,
        size_t width, T *scratch))

/* Packs those codes, which are the same for both types, from `rows` rows of `columns` bytes that are 1 for minus and
 * 0 for plus.  `codes` points to the code of the first row in an array for `factors` factors. */
KERNEL(void, pack_signs, (const uint8_t *negative, size_t rows, size_t columns, uint8_t *codes, size_t factors))

/* The features of sign_products for CSR rows.  The factors of a stretch come in blocks of 512, the last of which is
 * filled up.  `bits` has 64 bytes per block and column, words as wide as a number: factor i of the block is bit i /
 * words, counted from the highest, of word i % words.  `scratch` holds 64 bytes, and 128 for every factor of the
 * longest stretch, in whole blocks. */
KERNEL(size_t, sparse_sign_products,
       (const T *values, const void *indices, size_t index_bytes, const int64_t *starts, size_t rows, size_t columns,
        const void *bits, const int32_t *degrees, const T *weights, size_t parts, const int64_t *borders,
        size_t stretches, T *out, size_t stride, size_t width, T *scratch))

/* Features of `count` values x >= 0, each giving 2 order + 1 neighbours: weights[0] root(x), then weights[2j - 1]
 * root(x) cos(p) and weights[2j] root(x) sin(p) with p = j frequencies[0] log x for j = 1 ... order; all 0 if x is
 * 0.  Returns the first value that is negative or not finite, or `count`. */
KERNEL(size_t, additive,
       (const T *values, size_t count, const double *frequencies, size_t order, const double *weights, T *out))

/* Features scale (H diag(signs) x)[outputs], `width` of them, of rows of n numbers padded with zeros to `size`.
 * `scratch` holds `size` numbers. */
KERNEL(size_t, craft,
       (const T *X, size_t rows, size_t n, const T *signs, size_t size, const int32_t *outputs, size_t width, T scale,
        T *out, T *scratch))

/* The columns of additive features: column c becomes the `width` neighbours from c width on. */
KERNEL(void, spread, (const Unsigned *columns, size_t count, size_t width, Unsigned *out))

/* Packs a matrix of n rows, minus an origin that is subtracted from each of its columns, in the order in which the
 * products below read it; that order depends on the instruction set.  Neighbours in a column are row_step numbers
 * apart, neighbours in a row column_step.  `panels` holds n times the number of columns, rounded up to a multiple of
 * 32. */
KERNEL(void, pack,
       (const double *matrix, size_t n, size_t columns, size_t row_step, size_t column_step, const double *origin,
        T *panels))

/* The products of rows of n numbers with the columns of a packed matrix.  `scratch` holds 640 KiB. */
KERNEL(size_t, product,
       (const T *X, size_t rows, size_t n, const T *panels, size_t columns, T *out, T *scratch))

/* The features of waves() whose `count` phases are the products of dense or CSR rows with a packed matrix.
 * `scratch` holds 640 KiB. */
KERNEL(void, matrix_waves,
       (const T *values, const void *indices, size_t index_bytes, const int64_t *starts, size_t rows, size_t n,
        const T *panels, size_t count, const T *offset, size_t period, size_t width, T scale, T *out, T *longest,
        T *scratch))

/* out = (x - offset) factor for the n columns of every row.  Returns the first row with a number that is not finite,
 * or `rows`. */
KERNEL(size_t, scaled, (const T *X, size_t rows, size_t n, const T *offset, const T *factor, T *out))

/* The products of `some` rows of Z, which have these numbers and are `stride` numbers apart, with `count` columns, each
 * of which is stored as a row of n numbers. */
KERNEL(void, few_columns,
       (const T *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *columns, size_t count, T *out))

/* Adds weights' Z to `count` rows of n sums; each of the rows of Z has `count` weights. */
KERNEL(void, few_columns_transposed,
       (const T *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *weights, size_t count, T *sums))

/* Adds Z' weights to the sums, with weights = curvature times the products of few_columns() plus the offsets of the
 * columns, number by number.  Nothing is multiplied where the curvature is 0. */
KERNEL(void, few_columns_curved,
       (const T *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *curvature, const T *columns,
        const T *offsets, size_t count, T *weights, T *sums))

/* The same three for rows of 16-bit integers. */
KERNEL(void, fixed_few_columns,
       (const uint16_t *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *columns, size_t count,
        T *out))
KERNEL(void, fixed_few_columns_transposed,
       (const uint16_t *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *weights, size_t count,
        T *sums))
KERNEL(void, fixed_few_columns_curved,
       (const uint16_t *Z, size_t stride, size_t n, const int64_t *rows, size_t some, const T *curvature,
        const T *columns, const T *offsets, size_t count, T *weights, T *sums))

/* Rows of n numbers times `units`, rounded to 16-bit integers; rows of the integers are `stride` apart. */
KERNEL(void, to_fixed, (const T *values, size_t rows, size_t n, T units, uint16_t *out, size_t stride))

/* Turns inner products `values` of `rows` rows of X and `others` rows of Y, all shifted by the same vector, into
 * squared distances s (shape 0), exp(-scale s) (1) or, with z = scale root(s), Matern's exp(-z) (2), (1 + z) exp(-z)
 * (3) and (1 + z + z^2 / 3) exp(-z) (4).  The norms are squared, and taken after the shift.  If two rows are so
 * close that digits have cancelled, their distance is computed from the rows themselves. */
KERNEL_F64(void, radial,
           (double *values, size_t rows, size_t others, const double *X, const double *Y, size_t columns,
            const double *norms_x, const double *norms_y, size_t shape, double scale))

/* Kernel values of `rows` rows of n numbers at `others` landmarks, which `pack` has packed; both are shifted by the
 * same vector, and the squared norms are those after the shift.  The shapes are those of `radial`, from 1 on.  No
 * digits that cancel are computed again.  `scratch` is that of `product`. */
KERNEL(void, radial_values,
       (const T *X, size_t rows, size_t n, const T *norms_x, const T *panels, size_t others, const T *norms_y,
        size_t shape, T scale, T *out, T *scratch))

/* For every row x of X and y of Y a sum or product over the columns, chosen by the number `term`: the sum of min(x,
 * y) (0), |x - y| (1), 2 x y / (x + y) (2) or the Jensen-Shannon term (3); one over the product of 1 + scale^2 (x -
 * y)^2 (4) or of cosh((u - v) / 2) (5).  X comes by rows, Y by columns of `stride` numbers, a multiple of 16 that is
 * at least `others`.  Terms 3 and 5 use a second number for each: log(x) / log 4 (anything for x = 0) beside x, and
 * exp(-u / 2) / sqrt(2) beside exp(u). */
KERNEL_F64(void, pairs,
           (const double *X, const double *second_X, size_t rows, const double *Y, const double *second_Y,
            size_t others, size_t stride, size_t columns, size_t term, double scale, double *out))

/* How many times a letter occurs. */
FUNCTION(size_t, count, (const char *text, size_t size, int letter))

/* Reads rows of "label index:value ...", one per line; the last of the `size` bytes is a line break.  `base` is
 * subtracted from indices, which are written in `index_bytes` (4 or 8) bytes, like the starts of rows among the
 * entries.  There is room for as many labels as line breaks, one start more than that, and as many entries as
 * colons.  If labels is null, rows and entries are only counted, and values are not looked at.  Returns one of the
 * faults of mercer.h. */
FUNCTION(int, libsvm,
         (const char *text, size_t size, int64_t base, size_t index_bytes, double *labels, void *starts, void *indices,
          double *values, mercer_libsvm_found *found))
