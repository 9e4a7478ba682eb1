// Random sums of the columns of a row, in shared memory.
#pragma once

#include "hadamard.cuh"

// The entries of the sketches of a row. For every degree, turn k has the (k + 1)-th column of every place that has so
// many, places with most columns first; so a place has the same number in every turn, and one thread adds its columns up
// in their order. An entry is a column, with its sign in the highest bit; the column behind the last is a constant.
struct SketchEntries {
    const int *entries, *places;  // of all degrees, one after the other; places are those of the first turn
    const int* starts;            // for every degree, where each turn begins, and the end of the last
    int turns, columns;
    float factor, constant;

    __device__ float value(const float* x, int entry) const {
        const int column = entry & 0x7fffffff;
        return flipped(column < columns ? factor * x[column] : constant, (unsigned)entry, 31);
    }

    // Writes the sums of one degree to their places among the 2 * SHARED floats of a sketch, and 0 to all others.
    template <int LOG>
    __device__ void write(int degree, const float* x, float* sketch, int t) const {
        using G = Group<LOG>;
        for (int j = t; j < 2 * G::SHARED / 4; j += G::THREADS)
            reinterpret_cast<float4*>(sketch)[j] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        G::wait();
        const int* begin = starts + degree * (turns + 1);
        const int first = begin[0], count = begin[1] - first;
        for (int j = t; j < count; j += G::THREADS) {
            float sum = value(x, entries[first + j]);
            for (int turn = 1; turn < turns && j < begin[turn + 1] - begin[turn]; ++turn)
                sum += value(x, entries[begin[turn] + j]);
            sketch[places[first + j]] = sum;
        }
        G::wait();
    }
};
