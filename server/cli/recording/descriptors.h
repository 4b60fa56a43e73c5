// The descriptors of files that this process may have, and has.
#pragma once

#include <cstddef>

namespace castscope::cli {

// Raises the process's limit as far as it may.
void raise_descriptor_limit();

std::size_t descriptor_limit();
// 0 where they cannot be counted.
std::size_t descriptors_in_use();

}  // namespace castscope::cli
