// Fourier maps: features of given phases, and of the phases that signs and Walsh-Hadamard transforms make.
#include "hadamard.h"
#include "waves.h"

namespace {

template <class T>
void waves(const T *phases, size_t rows, size_t count, const T *offset, size_t period, size_t width, T scale, T *out,
           T *longest) {
    for (size_t row = 0; row < rows; ++row) {
        longest[row] = write_waves(phases + row * count, count, offset, period, width, scale, out + row * width);
    }
}

// y = x * s for n numbers, zeros up to `size`.
template <class T>
inline void multiply(T *y, const T *x, const T *s, size_t n, size_t size) {
    for (size_t i = 0; i < n; ++i) y[i] = x[i] * s[i];
    for (size_t i = n; i < size; ++i) y[i] = T(0);
}

// Phases of every block: radii * H D3 H D2 H D1 x; `phases` has room for whole blocks.
template <class T>
void structured(const T *X, size_t rows, size_t n, const T *signs, size_t size, const T *radii, size_t count,
                const T *offset, size_t width, T scale, T *out, T *longest, T *phases) {
    for (size_t row = 0; row < rows; ++row) {
        const T *x = X + row * n;
        for (size_t block = 0; block * size < count; ++block) {
            T *y = phases + block * size;
            const T *s = signs + 3 * block * size;
            multiply(y, x, s, n, size);
            hadamard_rows(y, 1, size);
            multiply(y, y, s + size, size, size);
            hadamard_rows(y, 1, size);
            multiply(y, y, s + 2 * size, size, size);
            hadamard_rows(y, 1, size);
        }
        multiply(phases, phases, radii, count, count);
        longest[row] = write_waves(phases, count, offset, 1, width, scale, out + row * width);
    }
}

// Phases of every block: radii * H G P H B x; `phases` has room for whole blocks and one more.
template <class T>
void fastfood(const T *X, size_t rows, size_t n, const T *signs, const std::int32_t *orders, const T *directions,
              size_t size, const T *radii, size_t count, const T *offset, size_t width, T scale, T *out, T *longest,
              T *phases) {
    const size_t blocks = (count + size - 1) / size;
    T *turned = phases + blocks * size;
    for (size_t row = 0; row < rows; ++row) {
        const T *x = X + row * n;
        for (size_t block = 0; block < blocks; ++block) {
            T *y = phases + block * size;
            multiply(turned, x, signs + block * size, n, size);
            hadamard_rows(turned, 1, size);
            const std::int32_t *order = orders + block * size;
            const T *direction = directions + block * size;
            for (size_t i = 0; i < size; ++i) y[i] = turned[order[i]] * direction[i];
            hadamard_rows(y, 1, size);
        }
        multiply(phases, phases, radii, count, count);
        longest[row] = write_waves(phases, count, offset, 1, width, scale, out + row * width);
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_FOURIER(suffix, T)                                                                                     \
    void waves_##suffix(const T *phases, size_t rows, size_t count, const T *offset, size_t period, size_t width,    \
                        T scale, T *out, T *longest) {                                                                \
        waves(phases, rows, count, offset, period, width, scale, out, longest);                                       \
    }                                                                                                                 \
    void structured_##suffix(const T *X, size_t rows, size_t n, const T *signs, size_t size, const T *radii,         \
                             size_t count, const T *offset, size_t width, T scale, T *out, T *longest, T *phases) {   \
        structured(X, rows, n, signs, size, radii, count, offset, width, scale, out, longest, phases);                \
    }                                                                                                                 \
    void fastfood_##suffix(const T *X, size_t rows, size_t n, const T *signs, const std::int32_t *orders,            \
                           const T *directions, size_t size, const T *radii, size_t count, const T *offset,           \
                           size_t width, T scale, T *out, T *longest, T *phases) {                                    \
        fastfood(X, rows, n, signs, orders, directions, size, radii, count, offset, width, scale, out, longest,       \
                 phases);                                                                                             \
    }

MERCER_FOURIER(f32, float)
MERCER_FOURIER(f64, double)

}  // namespace mercer::MERCER_ISA
