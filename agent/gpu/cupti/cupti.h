// The copy of CUPTI that the process has loaded already (PyTorch's CUDA build links one). It is never loaded by us: a
// second copy would bring a second seat. Found without asking the linker (loaded_objects.h).
#pragma once

#include <cstdint>
#include <string>

#include "agent/gpu/cupti/cupti_abi.h"

namespace castscope::gpu::cupti {

struct Library {
  Api api;
  std::uint32_t version = 0;  // CUPTI_API_VERSION: 28, 130001, …
};

// False where there is none, or one that lacks a function; `why` says so in a few words then.
bool find_library(Library* library, std::string* why);
// It stays loaded from here on, whatever the job does. Asks the linker, so not in a thread that may have the GIL.
void keep_loaded(const Library& library);
// "CUPTI of CUDA 13.0", from a CUPTI_API_VERSION.
std::string describe(std::uint32_t version);

}  // namespace castscope::gpu::cupti
