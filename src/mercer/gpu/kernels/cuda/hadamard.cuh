// Walsh-Hadamard transforms of 2^LOG numbers by a group of threads, 2^HELD numbers in the registers of each.
//
// Some bits of an element's number are the number of the register, the others that of the thread. Transforms along the
// bits of the register cost one addition per number; between passes the group exchanges its numbers through shared
// memory, which brings other bits into registers. In layout B the register has the bits from B on.
#pragma once

template <int LOG>
struct Group {
    static_assert(LOG >= 5 && LOG <= 15, "a group has at most 1024 threads");
    static constexpr int VALUES = 1 << HELD;
    static constexpr int SIZE = 1 << LOG;
    static constexpr int THREADS = SIZE / VALUES;
    static constexpr int PER_BLOCK = THREADS <= 32 ? 256 / THREADS : 1;
    // Floats, with room for padding; a multiple of four, so that four of them can be written at once.
    static constexpr int SHARED = (SIZE + SIZE / VALUES + 3) / 4 * 4;
    static constexpr int PASSES = (LOG + HELD - 1) / HELD;
    static constexpr int LAST = LOG - HELD;  // the layout in which neighbouring threads hold neighbouring elements

    static constexpr __host__ __device__ int first_bit(int pass) { return HELD * pass; }
    static constexpr __host__ __device__ int end_bit(int pass) {
        return first_bit(pass) + HELD < LOG ? first_bit(pass) + HELD : LOG;
    }
    static constexpr __host__ __device__ int layout(int pass) { return first_bit(pass) < LAST ? first_bit(pass) : LAST; }

    // The number of the element in register r of thread t, in layout B.
    template <int B>
    static __device__ int element(int t, int r) {
        return ((t >> B) << (B + HELD)) | (r << B) | (t & ((1 << B) - 1));
    }

    static __device__ void wait() {
        if constexpr (THREADS <= 32) __syncwarp();
        else __syncthreads();
    }
};

template <int LOG>
using Values = float[Group<LOG>::VALUES];

// Where an element is kept while the group goes from layout B to the next, or back: padded so that the threads of a warp
// read and write different banks in both.
template <int LOG, int B>
__device__ int padded(int place) {
    return place + ((place >> (B + HELD)) << B);
}

template <int LOG, int B, int PADDING>
__device__ void write_shared(const Values<LOG>& v, float* shared, int t) {
    using G = Group<LOG>;
#pragma unroll
    for (int r = 0; r < G::VALUES; ++r) shared[padded<LOG, PADDING>(G::template element<B>(t, r))] = v[r];
}

template <int LOG, int B, int PADDING>
__device__ void read_shared(Values<LOG>& v, const float* shared, int t) {
    using G = Group<LOG>;
#pragma unroll
    for (int r = 0; r < G::VALUES; ++r) v[r] = shared[padded<LOG, PADDING>(G::template element<B>(t, r))];
}

template <int LOG, int FROM, int TO>
__device__ void exchange(Values<LOG>& v, float* shared, int t) {
    constexpr int PADDING = FROM < TO ? FROM : TO;
    write_shared<LOG, FROM, PADDING>(v, shared, t);
    Group<LOG>::wait();
    read_shared<LOG, TO, PADDING>(v, shared, t);
    Group<LOG>::wait();
}

// The same for two sets of numbers, which wait for each other once.
template <int LOG, int FROM, int TO>
__device__ void exchange(Values<LOG>& a, Values<LOG>& b, float* first, float* second, int t) {
    constexpr int PADDING = FROM < TO ? FROM : TO;
    write_shared<LOG, FROM, PADDING>(a, first, t);
    write_shared<LOG, FROM, PADDING>(b, second, t);
    Group<LOG>::wait();
    read_shared<LOG, TO, PADDING>(a, first, t);
    read_shared<LOG, TO, PADDING>(b, second, t);
    Group<LOG>::wait();
}

// Butterflies along the bits of one pass.
template <int LOG, int PASS>
__device__ void transform_pass(Values<LOG>& v) {
    using G = Group<LOG>;
#pragma unroll
    for (int bit = G::first_bit(PASS) - G::layout(PASS); bit < G::end_bit(PASS) - G::layout(PASS); ++bit) {
#pragma unroll
        for (int r = 0; r < G::VALUES; ++r) {
            if (r & (1 << bit)) continue;
            const float left = v[r], right = v[r | (1 << bit)];
            v[r] = left + right;
            v[r | (1 << bit)] = left - right;
        }
    }
}

// The transform of numbers that come in layout 0 and leave in the last one.
template <int LOG, int PASS = 0>
__device__ void transform_up(Values<LOG>& v, float* shared, int t) {
    transform_pass<LOG, PASS>(v);
    if constexpr (PASS + 1 < Group<LOG>::PASSES) {
        exchange<LOG, Group<LOG>::layout(PASS), Group<LOG>::layout(PASS + 1)>(v, shared, t);
        transform_up<LOG, PASS + 1>(v, shared, t);
    }
}

template <int LOG, int PASS = 0>
__device__ void transform_up(Values<LOG>& a, Values<LOG>& b, float* first, float* second, int t) {
    transform_pass<LOG, PASS>(a);
    transform_pass<LOG, PASS>(b);
    if constexpr (PASS + 1 < Group<LOG>::PASSES) {
        exchange<LOG, Group<LOG>::layout(PASS), Group<LOG>::layout(PASS + 1)>(a, b, first, second, t);
        transform_up<LOG, PASS + 1>(a, b, first, second, t);
    }
}

// The transform of numbers that come in the last layout and leave in layout 0.
template <int LOG, int PASS = Group<LOG>::PASSES - 1>
__device__ void transform_down(Values<LOG>& v, float* shared, int t) {
    transform_pass<LOG, PASS>(v);
    if constexpr (PASS > 0) {
        exchange<LOG, Group<LOG>::layout(PASS), Group<LOG>::layout(PASS - 1)>(v, shared, t);
        transform_down<LOG, PASS - 1>(v, shared, t);
    }
}

// A number with its sign changed where a word has a 1 at the number of its register.
__device__ inline float flipped(float value, unsigned word, int r) {
    return __uint_as_float(__float_as_uint(value) ^ ((word << (31 - r)) & 0x80000000u));
}

// A row of some columns times a factor, then a constant, then zeros, in shared memory.
template <int LOG>
__device__ void load_row(const float* row, int columns, float factor, float constant, float* shared, int t) {
    for (int j = t; j < Group<LOG>::SIZE; j += Group<LOG>::THREADS)
        shared[padded<LOG, 0>(j)] = j < columns ? factor * row[j] : (j == columns ? constant : 0.0f);
    Group<LOG>::wait();
}

// Numbers in the last layout, for every thread of the group to read where their elements' numbers say.
template <int LOG>
__device__ void publish(const Values<LOG>& v, float* shared, int t) {
    using G = Group<LOG>;
#pragma unroll
    for (int r = 0; r < G::VALUES; ++r) shared[G::template element<G::LAST>(t, r)] = v[r];
    G::wait();
}
