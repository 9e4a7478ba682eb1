// AdditiveMap: roots of values, and roots times cosines and sines of multiples of their logarithms, each weighted.

// One thread maps one value, in double precision because a high frequency makes the last digits of a logarithm matter.
extern "C" __global__ void additive_waves(
    const float* X, long long values, int columns, const double* frequencies, const double* weights, int order, float* Z,
    unsigned char* lost) {
    const long long place = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= values) return;
    const double value = X[place], root = sqrt(value), length = value > 0.0 ? log(value) : 0.0;
    float* out = Z + place * (2 * order + 1);
    bool finite = isfinite(out[0] = (float)(root * weights[0]));
    for (int j = 0; j < order; ++j) {
        double sine, cosine;
        sincos(length * frequencies[j], &sine, &cosine);
        finite &= isfinite(out[2 * j + 1] = (float)(root * weights[2 * j + 1] * cosine));
        finite &= isfinite(out[2 * j + 2] = (float)(root * weights[2 * j + 2] * sine));
    }
    if (!finite) lost[place / columns] = 1;
}
