// Readable names for GPU kernels, for what they were launched for, and for the streams that they ran in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::report {

// Demangles a kernel's name; a name that is not mangled stays.
std::string demangled(const std::string& name);
// Returns the name without template arguments and parameters: "at::native::vectorized_elementwise_kernel". CUTLASS's
// kernels are known by their first template argument.
std::string short_kernel_name(const std::string& demangled);

// Says what a kernel was launched for: "cast linear weight, float32 to bfloat16", "linear", a compiled graph; "" = not
// known.
std::string purpose_of(const store::RunData&, const store::Kernel&);
// "backward" for "0/1 backward"; "unknown" where the phase is not known.
std::string_view phase_of_origin(std::string_view origin);
// The stack of the code that launched the kernel; 0 = not known.
store::StackId stack_of(const store::RunData&, const store::Kernel&);
store::ModuleId module_of(const store::RunData&, const store::Kernel&);
// "GPU 0 stream 7"; "GPU 0 stream 7, at once" for further lines of the stream.
std::string stream_name(std::uint32_t device, std::uint32_t stream, std::uint32_t line = 0);
// The short name; "kernel" where it has none.
std::string name_of(const store::RunData&, const store::Kernel&);

}  // namespace castscope::report
