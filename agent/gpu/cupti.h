// The copy of CUPTI that the process has loaded already (PyTorch's CUDA build links one). It is never loaded by us: a
// second copy would bring a second seat.
#pragma once

#include <cstdint>
#include <string>

#include "agent/gpu/cupti_abi.h"

namespace castscope::gpu::cupti {

struct Library {
  Api api;
  std::string path;
  std::uint32_t version = 0;  // CUPTI_API_VERSION: 28, 130001, …
};

// False where there is none, or one that lacks a function; `why` says so in a few words then.
bool find_library(Library* library, std::string* why);
// "CUPTI of CUDA 13.0", from a CUPTI_API_VERSION.
std::string describe(std::uint32_t version);

}  // namespace castscope::gpu::cupti
