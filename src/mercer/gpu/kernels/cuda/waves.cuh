// Cosines and sines of phases, as Fourier features are stored.
#pragma once

// The sine and the cosine of a phase in half turns, to about 4e-7: whole turns are taken off exactly, and the
// approximations of the hardware are at their best below one turn.
__device__ inline void turn(float half_turns, float* sine, float* cosine) {
    const float turns = fmaf(half_turns, 0.5f, 12582912.0f) - 12582912.0f;  // the nearest whole number
    __sincosf(3.14159265f * fmaf(turns, -2.0f, half_turns), sine, cosine);
}

// Where the features of one row go. The first ``pairs`` frequencies have a cosine and a sine each, side by side; every
// other one has a cosine with an offset of its own. Phases are in half turns.
struct WaveRow {
    float* out;
    int pairs;
    float scale;
    float longest;  // up to here a phase in float32 has its digits
    bool aligned;   // whether a pair may be stored at once
    bool lost = false;

    __device__ void store_pair(int frequency, float phase) {
        float sine, cosine;
        lost |= !(fabsf(phase) <= longest);
        turn(phase, &sine, &cosine);
        reinterpret_cast<float2*>(out)[frequency] = make_float2(scale * cosine, scale * sine);
    }

    __device__ void store(int frequency, float phase, const float* offsets) {
        float sine, cosine;
        lost |= !(fabsf(phase) <= longest);
        const bool single = frequency >= pairs;
        turn(single ? phase + offsets[frequency - pairs] : phase, &sine, &cosine);
        if (single) {
            out[pairs + frequency] = scale * cosine;
        } else {
            out[2 * frequency] = scale * cosine;
            out[2 * frequency + 1] = scale * sine;
        }
    }

    // Whether these frequencies are all paired, and pairs can be stored at once.
    __device__ bool are_pairs(int end) const { return aligned && end <= pairs; }
};
