// Kernels of the Euclidean distance, from inner products: the distance, its repair where digits have cancelled, and the
// function of it, all while a row is in cache.
#include "exponential.h"

namespace {

using std::size_t;

// A squared distance below this fraction of the squared norms is computed again from the rows.
constexpr double cancelled = 1e-6;

inline double square_of_difference(const double *x, const double *y, size_t n) {
    constexpr size_t lanes = Simd<double>::lanes;
    Numbers sum = {};
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const Numbers difference = load(x + i) - load(y + i);
        sum += difference * difference;
    }
    double total = 0.0;
    for (size_t j = 0; j < lanes; ++j) total += sum[j];
    for (; i < n; ++i) total += (x[i] - y[i]) * (x[i] - y[i]);
    return total;
}

// Turns inner products into squared distances.  Returns whether some have lost their digits, or are NaN.
inline bool subtract(double *values, size_t count, double norm, const double *norms) {
    constexpr size_t lanes = Simd<double>::lanes;
    Integers lost = {};
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const Numbers sum = norm + load(norms + i), distance = sum - 2.0 * load(values + i);
        lost |= ~(distance > cancelled * sum);
        store(values + i, distance);
    }
    bool any = false;
    for (size_t j = 0; j < lanes; ++j) any |= lost[j] != 0;
    for (; i < count; ++i) {
        const double sum = norm + norms[i];
        values[i] = sum - 2.0 * values[i];
        any |= !(values[i] > cancelled * sum);
    }
    return any;
}

struct Distance {
    Numbers operator()(Numbers square) const { return square; }
};

struct Gaussian {
    double gamma;
    Numbers operator()(Numbers square) const { return exponential(square * -gamma); }
};

// Matern's kernels of order 1/2, 3/2 and 5/2 in z: (1 + z linear + z^2 quadratic) exp(-z).
struct Matern {
    double inverse_length, linear, quadratic;
    Numbers operator()(Numbers square) const {
        const Numbers z = root<double>(square) * inverse_length;
        // Beyond the bound all are 0, and infinity times 0 is none.
        const Numbers bounded = z > 1e100 ? broadcast(1e100) : z;
        return (1.0 + bounded * (linear + bounded * quadratic)) * exponential(-bounded);
    }
};

template <class Function>
void apply(double *values, size_t count, Function function) {
    constexpr size_t lanes = Simd<double>::lanes;
    size_t i = 0;
    for (; i + lanes <= count; i += lanes) store(values + i, function(load(values + i)));
    if (i < count) {
        double last[lanes] = {};
        __builtin_memcpy(last, values + i, (count - i) * sizeof(double));
        store(last, function(load(last)));
        __builtin_memcpy(values + i, last, (count - i) * sizeof(double));
    }
}

void apply_shape(double *values, size_t count, size_t shape, double scale) {
    switch (shape) {
        case 0: return;
        case 1: return apply(values, count, Gaussian{scale});
        case 2: return apply(values, count, Matern{scale, 0.0, 0.0});
        case 3: return apply(values, count, Matern{scale, 1.0, 0.0});
        default: return apply(values, count, Matern{scale, 1.0, 1.0 / 3.0});
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

void radial_f64(double *values, size_t rows, size_t others, const double *X, const double *Y, size_t columns,
                const double *norms_x, const double *norms_y, size_t shape, double scale) {
    for (size_t i = 0; i < rows; ++i) {
        double *row = values + i * others;
        if (subtract(row, others, norms_x[i], norms_y)) {
            for (size_t j = 0; j < others; ++j) {
                if (row[j] > cancelled * (norms_x[i] + norms_y[j])) continue;
                row[j] = square_of_difference(X + i * columns, Y + j * columns, columns);
            }
        }
        apply_shape(row, others, shape, scale);
    }
}

}  // namespace mercer::MERCER_ISA
