// Fourier maps: features of given phases, and of phases that are made by signs and Walsh-Hadamard transforms.
#include "interleaved_rows.h"
#include "rotation.h"
#include "waves.h"

namespace {

template <class T>
void waves(const T *phases, size_t rows, size_t count, const T *offset, size_t period, size_t width, T scale, T *out,
           T *longest) {
    for (size_t row = 0; row < rows; ++row) {
        longest[row] = write_waves(phases + row * count, count, offset, period, width, scale, out + row * width);
    }
}

constexpr size_t rows_per_block = 32;  // rows that use the signs of a block while these are in L1; the rows are in L2
constexpr size_t scratch_bytes = 16 * 1024;  // for a group of rows, which fits in L1 together with the signs

// The features of a block whose phases are radii times the transform of y, which lacks its last stages: pairs of waves
// and, if their number is odd, one cosine with the offset.  Radii and offset are in half turns.
template <class T, size_t count>
inline T write_block(const T *y, const T *radii, size_t features, T offset, const Waves<T> &waves, T *out) {
    constexpr size_t lanes = Simd<T>::lanes, run = count * lanes;
    Longest<T> longest;
    const auto write = [&](const T *y, const T *radii, const T *offsets, T *out) {
        Vector<T> v[count];
        load_registers<T>(v, y);
        adjacent_stages<T, 1>(v);
#pragma GCC unroll 16
        for (size_t i = 0; i < count; ++i) {
            Vector<T> phase = v[i] * load(radii + i * lanes);
            if (offsets) phase += load(offsets + i * lanes);
            longest.see(phase);
            const Wave<T> w = waves(reduced_half_turns<T>(phase));
            store_interleaved<T>(out + 2 * i * lanes, w.cosine, w.sine);
        }
    };
    size_t first = 0;
    for (; 2 * (first + run) <= features; first += run) write(y + first, radii + first, nullptr, out + 2 * first);
    if (2 * first < features) {
        const size_t left = features - 2 * first, phases = (left + 1) / 2;
        T last[run] = {}, offsets[run] = {}, pairs[2 * run];
        __builtin_memcpy(last, radii + first, phases * sizeof(T));
        if (left % 2) offsets[phases - 1] = offset;
        write(y + first, last, offsets, pairs);
        __builtin_memcpy(out + 2 * first, pairs, left * sizeof(T));
    }
    return longest.get() * T(pi);
}

// Phases of every block, in half turns: radii * H D3 H D2 H D1 x.
template <class T, size_t count>
struct Structured {
    const T *X;
    size_t rows, n;
    const T *signs;
    size_t size;
    const T *radii;
    T offset;
    size_t width;
    T *out, *longest, *scratch;
    Strides strides;
    Waves<T> waves;

    // The block of frequencies from `first` on, for rows from `top` on.
    void block(size_t first, size_t top, size_t count_of_rows) const {
        const size_t left = width - 2 * first, features = left < 2 * size ? left : 2 * size;
        const auto place = [&](size_t row) { return out + (top + row) * width + 2 * first; };
        const auto ahead = [&](size_t row) {
            const size_t next = top + count_of_rows + row;
            return Ahead<T>{X + next * n, next < rows ? n : 0, place(row), features};
        };
        rotate<T, count>(scratch, X + top * n, count_of_rows, n, signs + 3 * first, size, strides, (features + 1) / 2,
                         ahead);
        for (size_t row = 0; row < count_of_rows; ++row) {
            const T *y = scratch + row * size;
            const T length = write_block<T, count>(y, radii + first, features, offset, waves, place(row));
            longest[top + row] = longer(longest[top + row], length);
        }
    }

    void all() const {
        const size_t group = size * sizeof(T) < scratch_bytes ? scratch_bytes / sizeof(T) / size : 1;
        for (size_t row = 0; row < rows; ++row) longest[row] = T(0);
        for (size_t top = 0; top < rows; top += rows_per_block) {
            const size_t end = top + rows_per_block < rows ? top + rows_per_block : rows;
            for (size_t first = 0; 2 * first < width; first += size) {
                for (size_t row = top; row < end; row += group) {
                    block(first, row, row + group < end ? group : end - row);
                }
            }
        }
    }
};

template <class T, size_t count>
void structured(const T *X, size_t rows, size_t n, const T *signs, size_t size, const T *radii, T offset, size_t width,
                T scale, T *out, T *longest, T *scratch) {
    const Strides strides(size, count * Simd<T>::lanes);
    Structured<T, count>{X,   rows,    n,       signs,   size,    radii, offset, width,
                         out, longest, scratch, strides, {scale, pi}}
        .all();
}

template <class T>
void structured(const T *X, size_t rows, size_t n, const T *signs, size_t size, const T *radii, const T *offset,
                size_t width, T scale, T *out, T *longest, T *scratch) {
    if (size >= 8 * Simd<T>::lanes) {
        return structured<T, 8>(X, rows, n, signs, size, radii, *offset, width, scale, out, longest, scratch);
    }
    structured<T, 4>(X, rows, n, signs, size, radii, *offset, width, scale, out, longest, scratch);
}

// Phases of every block, in half turns: radii * H G P H B x, for a group of interleaved rows.  Signs, orders and
// directions are those of whole blocks, each followed by a register that may be read.
template <class T>
struct Fastfood {
    static constexpr size_t R = group_rows<T>, lanes = Simd<T>::lanes;

    size_t n, size;
    const T *signs;
    const std::int32_t *orders;
    const T *directions, *radii;
    T offset;
    Waves<T> waves;
    T *scratch;  // 3 times `size` columns of a group, or 3 times as many as a register has lanes if that is more

    // Pairs of waves of `lanes` phases of `rows` rows.
    MERCER_INLINE void write(const T *y, Vector<T> radii, Vector<T> offsets, size_t rows, T *out, size_t stride,
                             Longest<T> *longest) const {
        Vector<T> v[R];
        load_registers<T>(v, y);
        separate<T>(v);
#pragma GCC unroll 4
        for (size_t r = 0; r < R; ++r) {
            if (r < rows) {
                const Vector<T> phase = v[r] * radii + offsets;
                longest[r].see(phase);
                const Wave<T> w = waves(reduced_half_turns<T>(phase));
                store_interleaved<T>(out + r * stride, w.cosine, w.sine);
            }
        }
    }

    // The features of a block: pairs and, if their number is odd, one cosine with the offset.
    void write_all(const T *y, const T *radii, size_t features, size_t rows, T *out, size_t stride,
                   Longest<T> *longest) const {
        size_t first = 0;
        for (; 2 * (first + lanes) <= features; first += lanes) {
            write(y + first * R, load(radii + first), Vector<T>{}, rows, out + 2 * first, stride, longest);
        }
        if (2 * first < features) {
            const size_t left = features - 2 * first, phases = (left + 1) / 2;
            T last[lanes] = {}, offsets[lanes] = {}, pairs[2 * lanes * R];
            for (size_t i = 0; i < phases; ++i) last[i] = radii[first + i];
            if (left % 2) offsets[phases - 1] = offset;
            write(y + first * R, load(last), load(offsets), rows, pairs, 2 * lanes, longest);
            for (size_t r = 0; r < rows; ++r) {
                __builtin_memcpy(out + r * stride + 2 * first, pairs + r * 2 * lanes, left * sizeof(T));
            }
        }
    }

    void all(const T *X, size_t rows, T *out, size_t width, T *lengths) const {
        const size_t part = (size > lanes ? size : lanes) * R;
        T *group = scratch, *turned = group + part, *y = turned + part;
        for (size_t i = 0; i < 3 * part; ++i) scratch[i] = T(0);
        for (size_t first = 0; first < rows; first += R) {
            const size_t some = rows - first < R ? rows - first : R;
            Longest<T> longest[R];
            interleave_rows(X + first * n, some, n, size, group);
            for (size_t top = 0; 2 * top < width; top += size) {
                signed_hadamard(group, n, signs + top, size, turned);
                for (size_t i = 0; i < size; i += register_columns<T>) {
                    const Vector<T> ordered = gather_columns<T>(turned, orders + top + i);
                    store<T>(y + i * R, ordered * broadcast_columns(directions + top + i));
                }
                hadamard_rows<T, R>(y, 1, size * R);
                const size_t features = width - 2 * top < 2 * size ? width - 2 * top : 2 * size;
                write_all(y, radii + top, features, some, out + first * width + 2 * top, width, longest);
            }
            for (size_t r = 0; r < some; ++r) lengths[first + r] = longest[r].get() * T(pi);
        }
    }
};

}  // namespace

namespace mercer::MERCER_ISA {

#define MERCER_FOURIER(suffix, T)                                                                                    \
    void waves_##suffix(const T *phases, size_t rows, size_t count, const T *offset, size_t period, size_t width,    \
                        T scale, T *out, T *longest) {                                                               \
        waves(phases, rows, count, offset, period, width, scale, out, longest);                                      \
    }                                                                                                                \
    void structured_##suffix(const T *X, size_t rows, size_t n, const T *signs, size_t size, const T *radii,         \
                             const T *offset, size_t width, T scale, T *out, T *longest, T *scratch) {               \
        structured(X, rows, n, signs, size, radii, offset, width, scale, out, longest, scratch);                     \
    }                                                                                                                \
    void fastfood_##suffix(const T *X, size_t rows, size_t n, const T *signs, const std::int32_t *orders,            \
                           const T *directions, size_t size, const T *radii, const T *offset, size_t width, T scale, \
                           T *out, T *longest, T *scratch) {                                                         \
        const Waves<T> waves(scale, pi);                                                                             \
        const Fastfood<T> map{n, size, signs, orders, directions, radii, *offset, waves, scratch};                   \
        map.all(X, rows, out, width, longest);                                                                       \
    }

MERCER_FOURIER(f32, float)
MERCER_FOURIER(f64, double)

}  // namespace mercer::MERCER_ISA
