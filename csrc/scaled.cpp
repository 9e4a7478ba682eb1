// Rows whose columns are shifted and scaled, in one pass.
#include "isa.h"

#include <cstddef>

using std::size_t;

namespace {

// out = (x - offset) factor for every column; the first row of X with a number that is not finite, or `rows`.
template <class T>
size_t scaled(const T *X, size_t rows, size_t n, const T *offset, const T *factor, T *out) {
    constexpr size_t lanes = Simd<T>::lanes;
    size_t first = rows;
    for (size_t row = 0; row < rows; ++row, X += n, out += n) {
        Finite<T> finite;
        bool rest = true;
        size_t j = 0;
        for (; j + lanes <= n; j += lanes) {
            const Vector<T> x = load(X + j);
            finite.see(x);
            store<T>(out + j, (x - load(offset + j)) * load(factor + j));
        }
        for (; j < n; ++j) {
            rest &= X[j] - X[j] == T(0);
            out[j] = (X[j] - offset[j]) * factor[j];
        }
        if (first == rows && !(rest && finite.holds())) first = row;
    }
    return first;
}

}  // namespace

namespace mercer::MERCER_ISA {

size_t scaled_f32(const float *X, size_t rows, size_t n, const float *offset, const float *factor, float *out) {
    return scaled(X, rows, n, offset, factor, out);
}
size_t scaled_f64(const double *X, size_t rows, size_t n, const double *offset, const double *factor, double *out) {
    return scaled(X, rows, n, offset, factor, out);
}

}  // namespace mercer::MERCER_ISA
