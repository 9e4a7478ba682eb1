// Products of rows with a packed matrix, as they are or as the phases of Fourier features.
#include "gemm.h"
#include "rows.h"
#include "waves.h"

namespace {

static_assert(Gemm<float>::room * sizeof(float) <= 640 * 1024 && Gemm<double>::room * sizeof(double) <= 640 * 1024);

template <class T>
size_t product(const T *X, size_t rows, size_t n, const T *panels, size_t columns, T *out, T *scratch) {
    size_t finite = rows;
    Gemm<T>::all(X, rows, n, panels, columns, scratch, [&](size_t row, size_t first, size_t count, const T *sums) {
        if (row < finite && !all_finite(sums, count)) finite = row;
        __builtin_memcpy(out + row * columns + first, sums, count * sizeof(T));
    });
    return finite;
}

template <class T>
void matrix_waves(const Rows<T> &X, const T *panels, size_t count, const T *offset, size_t period, size_t width,
                  T scale, T *out, T *longest, T *scratch) {
    const Waves<T> waves(scale, 1.0);
    const size_t pairs = width - count;
    for (size_t row = 0; row < X.count; ++row) longest[row] = T(0);
    const auto write = [&](size_t row, size_t first, size_t some, const T *phases) {
        Longest<T> length;
        const size_t before = first < pairs ? first : pairs, left = pairs - before, paired = some < left ? some : left;
        const size_t alone = first - before;  // phases before these that have one feature
        T *features = out + row * width + first + before;
        write_pairs<T>(phases, paired, waves, features, length);
        write_singles<T>(phases + paired, some - paired, period == 1 ? offset : offset + alone, period, waves,
                         features + 2 * paired, length);
        longest[row] = longer(longest[row], length.get());
    };
    const auto sparse = [&](auto *indices) {
        Gemm<T>::all_sparse(X.values, indices, X.starts, X.count, X.columns, panels, count, scratch, write);
    };
    if (X.index_bytes == 4) return sparse(static_cast<const std::int32_t *>(X.indices));
    if (X.index_bytes == 8) return sparse(static_cast<const std::int64_t *>(X.indices));
    Gemm<T>::all(X.values, X.count, X.columns, panels, count, scratch, write);
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_PRODUCT(suffix, T)                                                                                     \
    void pack_##suffix(const double *matrix, size_t n, size_t columns, size_t row_step, size_t column_step,           \
                       const double *origin, T *panels) {                                                             \
        Gemm<T>::pack(matrix, n, columns, row_step, column_step, origin, panels);                                     \
    }                                                                                                                 \
    size_t product_##suffix(const T *X, size_t rows, size_t n, const T *panels, size_t columns, T *out, T *scratch) { \
        return product(X, rows, n, panels, columns, out, scratch);                                                    \
    }                                                                                                                 \
    void matrix_waves_##suffix(const T *values, const void *indices, size_t index_bytes, const std::int64_t *starts,  \
                               size_t rows, size_t n, const T *panels, size_t count, const T *offset, size_t period,  \
                               size_t width, T scale, T *out, T *longest, T *scratch) {                               \
        const Rows<T> X{values, indices, index_bytes, starts, rows, n};                                               \
        matrix_waves(X, panels, count, offset, period, width, scale, out, longest, scratch);                          \
    }

MERCER_PRODUCT(f32, float)
MERCER_PRODUCT(f64, double)

}  // namespace mercer::MERCER_ISA
