// Kernels that are a sum or a product over the columns of two rows.
//
// The rows of Y come as groups: a register holds one column of several rows of Y, against one number of a row of X.
// Every pair adds its columns in the same order, whatever rows surround it, and its terms do not change when x and y
// are exchanged: a Gram matrix is symmetric to the bit.
#include "exponential.h"

namespace {

using std::size_t;

constexpr size_t lanes = Simd<double>::lanes, registers = 2, group_others = registers * lanes;
constexpr size_t some_rows = 4;
constexpr size_t some_columns = 512;  // of Y, which stay in cache while all rows of X are handled

inline Numbers magnitude(Numbers x) { return (Numbers)((Integers)x & 0x7fffffffffffffff); }
inline Numbers lower(Numbers x, Numbers y) { return x < y ? x : y; }
inline Numbers higher(Numbers x, Numbers y) { return x > y ? x : y; }
inline Numbers or_one(Numbers x) { return x > 0.0 ? x : broadcast(1.0); }

// A term has a start, adds `step` columns at a time to a total, and finishes it.  If it `doubles`, rows have two
// numbers per column.
struct Sum {
    static constexpr size_t step = 1;
    static constexpr bool doubles = false;
    static constexpr double start = 0.0;
    static Numbers finish(Numbers total) { return total; }
};

struct Intersection : Sum {
    static Numbers add(Numbers total, const Numbers (&x)[1], const Numbers (&y)[1], double) {
        return total + lower(x[0], y[0]);
    }
};

struct Manhattan : Sum {
    static Numbers add(Numbers total, const Numbers (&x)[1], const Numbers (&y)[1], double) {
        return total + magnitude(x[0] - y[0]);
    }
};

// x y / (x + y): numerator and denominator of one column, or of the sum of several.
struct Fraction {
    Numbers over, under;

    Fraction(Numbers x, Numbers y) : over(x * y), under(or_one(x + y)) {}
    Fraction(const Fraction &a, const Fraction &b)
        : over(a.over * b.under + b.over * a.under), under(a.under * b.under) {}
};

// Four columns share one division, which costs more than all the rest.
struct Chi2 : Sum {
    static constexpr size_t step = 4;
    static Numbers add(Numbers total, const Numbers (&x)[4], const Numbers (&y)[4], double) {
        const Fraction a(x[0], y[0]), b(x[1], y[1]), c(x[2], y[2]), d(x[3], y[3]);
        const Fraction sum(Fraction(a, b), Fraction(c, d));
        return total + sum.over / sum.under;
    }
    static Numbers finish(Numbers total) { return total + total; }
};

// With r = low / high a column is low ((1 + r) log(1 + r) / r + |log x - log y|) / log 4.  The second number of a
// column is log(x) / log 4, and the rest of the bracket a polynomial in r - 1/2 (interpolated at Chebyshev nodes).
struct JensenShannon : Sum {
    static constexpr bool doubles = true;
    static constexpr double log_4 = 0x1.62e42fefa39efp+0;
    static constexpr double series[19] = {
        1.2163953243244932 / log_4,      0.37813956756734324 / log_4,    -0.08961246846801872 / log_4,
        0.03107678878771099 / log_4,     -0.012770861526286443 / log_4,  0.005788636645478878 / log_4,
        -0.002798123753730509 / log_4,   0.0014156997062372114 / log_4,  -0.0007411262685728544 / log_4,
        0.00039841418981476616 / log_4,  -0.0002187679187708064 / log_4, 0.00012215891597769092 / log_4,
        -6.924580253985635e-05 / log_4,  4.017170254625911e-05 / log_4,  -2.3308594527756908e-05 / log_4,
        1.2058059414471597e-05 / log_4,  -7.09065227917807e-06 / log_4,  7.380125200724481e-06 / log_4,
        -4.433885782139448e-06 / log_4};

    static Numbers add(Numbers total, Numbers x, Numbers y, Numbers log_x, Numbers log_y) {
        const Numbers low = lower(x, y), high = higher(x, y), ratio = low / or_one(high);
        return total + low * (polynomial<double>(ratio - 0.5, series) + magnitude(log_x - log_y));
    }
};

struct Product {
    static constexpr size_t step = 1;
    static constexpr bool doubles = false;
    static constexpr double start = 1.0;
    static Numbers finish(Numbers total) { return 1.0 / total; }
};

struct Cauchy : Product {
    static Numbers add(Numbers total, const Numbers (&x)[1], const Numbers (&y)[1], double scale) {
        const Numbers length = (x[0] - y[0]) * scale;
        return total * (1.0 + length * length);
    }
};

// cosh((u - v) / 2) from exp(u) and exp(v), with exp(-u / 2) / sqrt(2) and exp(-v / 2) / sqrt(2) as second numbers.
struct SkewedChi2 : Product {
    static constexpr bool doubles = true;
    static Numbers add(Numbers total, Numbers x, Numbers y, Numbers second_x, Numbers second_y) {
        return total * ((x + y) * (second_x * second_y));
    }
};

struct Tables {
    const double *X[2];  // by rows
    const double *Y[2];  // by columns, `stride` numbers each
    size_t rows, others, stride, columns;
    double scale;
    double *out;
};

// Adds `step` columns, of which only `filled` exist and the others are 0, to the totals of `count` rows of X from row i
// on and of a group of rows of Y from row j on.
template <class Term, size_t count>
inline void add_columns(const Tables &t, size_t i, size_t j, size_t c, size_t filled,
                        Numbers (&total)[count][registers]) {
    for (size_t b = 0; b < registers; ++b) {
        const size_t place = c * t.stride + j + b * lanes;
        Numbers y[Term::step] = {};
        for (size_t k = 0; k < filled; ++k) y[k] = load(t.Y[0] + place + k * t.stride);
        for (size_t a = 0; a < count; ++a) {
            const size_t entry = (i + a) * t.columns + c;
            if constexpr (Term::doubles) {
                const Numbers x = broadcast(t.X[0][entry]), second = broadcast(t.X[1][entry]);
                total[a][b] = Term::add(total[a][b], x, y[0], second, load(t.Y[1] + place));
            } else {
                Numbers x[Term::step] = {};
                for (size_t k = 0; k < filled; ++k) x[k] = broadcast(t.X[0][entry + k]);
                total[a][b] = Term::add(total[a][b], x, y, t.scale);
            }
        }
    }
}

// Adds the columns from `first` to `last` to the totals.
template <class Term, size_t count>
inline void add_part(const Tables &t, size_t i, size_t j, size_t first, size_t last,
                     double (&totals)[count][group_others]) {
    Numbers total[count][registers];
    for (size_t a = 0; a < count; ++a) {
        for (size_t b = 0; b < registers; ++b) total[a][b] = load(totals[a] + b * lanes);
    }
    size_t c = first;
    for (; c + Term::step <= last; c += Term::step) add_columns<Term, count>(t, i, j, c, Term::step, total);
    if (c < last) add_columns<Term, count>(t, i, j, c, last - c, total);
    for (size_t a = 0; a < count; ++a) {
        for (size_t b = 0; b < registers; ++b) {
            store(totals[a] + b * lanes, last == t.columns ? Term::finish(total[a][b]) : total[a][b]);
        }
    }
}

// The same with totals in the output, which holds them between one part of the columns and the next.
template <class Term, size_t count>
inline void part(const Tables &t, size_t i, size_t j, size_t first, size_t last) {
    const size_t bytes = (t.others - j < group_others ? t.others - j : group_others) * sizeof(double);
    double totals[count][group_others];
    for (size_t a = 0; a < count; ++a) {
        for (double &total : totals[a]) total = Term::start;
        if (first > 0) __builtin_memcpy(totals[a], t.out + (i + a) * t.others + j, bytes);
    }
    add_part<Term, count>(t, i, j, first, last, totals);
    for (size_t a = 0; a < count; ++a) __builtin_memcpy(t.out + (i + a) * t.others + j, totals[a], bytes);
}

template <class Term>
void pairs(const Tables &t) {
    for (size_t first = 0; first < t.columns; first += some_columns) {
        const size_t last = t.columns - first < some_columns ? t.columns : first + some_columns;
        for (size_t j = 0; j < t.others; j += group_others) {
            size_t i = 0;
            for (; i + some_rows <= t.rows; i += some_rows) part<Term, some_rows>(t, i, j, first, last);
            for (; i < t.rows; ++i) part<Term, 1>(t, i, j, first, last);
        }
    }
}

}  // namespace

namespace mercer::MERCER_ISA {

void pairs_f64(const double *X, const double *second_X, size_t rows, const double *Y, const double *second_Y,
               size_t others, size_t stride, size_t columns, size_t term, double scale, double *out) {
    const Tables t{{X, second_X}, {Y, second_Y}, rows, others, stride, columns, scale, out};
    switch (term) {
        case 0: return pairs<Intersection>(t);
        case 1: return pairs<Manhattan>(t);
        case 2: return pairs<Chi2>(t);
        case 3: return pairs<JensenShannon>(t);
        case 4: return pairs<Cauchy>(t);
        default: return pairs<SkewedChi2>(t);
    }
}

}  // namespace mercer::MERCER_ISA
