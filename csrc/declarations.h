// Declares the functions of kernels.h: those of the instruction set MERCER_ISA, if one is given, and those compiled
// once.
//
// A definition that differs from its declaration defines another function: the declared one is missing, so the build
// fails.
#include "mercer.h"

#define KERNEL_F64(result, name, arguments)
#define FUNCTION(result, name, arguments) result name arguments;
#define KERNEL(result, name, arguments)
namespace mercer {
#include "kernels.h"
}
#undef KERNEL
#undef FUNCTION

#ifdef MERCER_ISA
#define FUNCTION(result, name, arguments)
namespace mercer::MERCER_ISA {

#define KERNEL(result, name, arguments) result name##_f32 arguments;
#define T float
#define Unsigned uint32_t
#include "kernels.h"
#undef KERNEL
#undef KERNEL_F64
#undef T
#undef Unsigned

#define KERNEL(result, name, arguments) result name##_f64 arguments;
#define KERNEL_F64(result, name, arguments) KERNEL(result, name, arguments)
#define T double
#define Unsigned uint64_t
#include "kernels.h"
#undef KERNEL
#undef T
#undef Unsigned

}  // namespace mercer::MERCER_ISA
#undef FUNCTION
#endif
#undef KERNEL_F64
