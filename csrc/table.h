// The table of one instruction set, MERCER_ISA: all functions of kernels.h and the structs that they take.
#include "declarations.h"

#define ENTRY(result, name, function, arguments)                                        \
    {#function, Signature<decltype(function)>::types, #result " " #name " " #arguments, \
     reinterpret_cast<void (*)()>(function)},
#define LETTER(type, name) letter<type>,
#define DECLARATION(type, name) #type " " #name ";"
#define STRUCT(name, FIELDS)                                      \
    static constexpr char name##_types[] = {FIELDS(LETTER) '\0'}; \
    static constexpr mercer_entry name##_entry = {#name, name##_types, FIELDS(DECLARATION), nullptr};

namespace mercer::MERCER_ISA {

STRUCT(mercer_rows, MERCER_ROWS)
STRUCT(mercer_libsvm_found, MERCER_LIBSVM_FOUND)

static const mercer_entry table[] = {
#define KERNEL_F64(result, name, arguments)
#define FUNCTION(result, name, arguments) ENTRY(result, name, name, arguments)
#define KERNEL(result, name, arguments) ENTRY(result, name, name##_f32, arguments)
#include "kernels.h"
#undef KERNEL
#undef KERNEL_F64
#undef FUNCTION
#define FUNCTION(result, name, arguments)
#define KERNEL(result, name, arguments) ENTRY(result, name, name##_f64, arguments)
#define KERNEL_F64(result, name, arguments) KERNEL(result, name, arguments)
#include "kernels.h"
#undef KERNEL
#undef KERNEL_F64
#undef FUNCTION
    mercer_rows_entry,
    mercer_libsvm_found_entry,
    {},
};

}  // namespace mercer::MERCER_ISA

#undef ENTRY
#undef LETTER
#undef DECLARATION
#undef STRUCT
