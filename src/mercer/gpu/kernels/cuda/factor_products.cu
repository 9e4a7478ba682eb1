// Random products: every feature is a weight times the product of some factors, which lie side by side in a row.

// One block of threads maps one row. starts: where the factors of each feature begin, with the end of the last.
extern "C" __global__ void factor_products(
    const float* factors, int count, const int* starts, const float* weights, int features, float* Z, int width,
    unsigned char* lost) {
    const long long row = blockIdx.x;
    const float* mine = factors + row * count;
    bool finite = true;
    for (int f = threadIdx.x; f < features; f += blockDim.x) {
        float product = weights[f];
        for (int k = starts[f]; k < starts[f + 1]; ++k) product *= mine[k];
        Z[row * width + f] = product;
        finite &= isfinite(product);
    }
    if (!finite) lost[row] = 1;
}
