// The Walsh-Hadamard transform of rows as a kernel of its own.
#include "hadamard.h"

namespace mercer::MERCER_ISA {

void hadamard_f32(float *data, size_t rows, size_t width) { hadamard_rows(data, rows, width); }
void hadamard_f64(double *data, size_t rows, size_t width) { hadamard_rows(data, rows, width); }

}  // namespace mercer::MERCER_ISA
