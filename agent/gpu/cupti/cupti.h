// The copy of CUPTI that the process has already loaded (PyTorch's CUDA build links one). We never load it: a second
// copy would bring a second seat. It is found without asking the linker (loaded_objects.h).
#pragma once

#include <cstdint>
#include <string>

#include "agent/gpu/cupti/cupti_abi.h"

namespace castscope::gpu::cupti {

struct Library {
  Api api;
  std::uint32_t version = 0;  // CUPTI_API_VERSION: 28, 130001, …
};

// Returns false where there is no CUPTI, or one that lacks a function; `why` says so in a few words then.
bool find_library(Library* library, std::string* why);
// Keeps CUPTI loaded from here on, whatever the job does. Asks the linker, so do not call it in a thread that may have
// the GIL.
void keep_loaded(const Library& library);
// Switches the recording of each function that launches on or off. Returns false where this CUPTI cannot do so. CUPTI
// obeys only while the kind of the function is on, or in contexts that were made while such functions were recorded, as
// long as no kind was switched on since.
bool record_launching(const Api& api, bool on);
// "CUPTI of CUDA 13.0", from a CUPTI_API_VERSION.
std::string describe(std::uint32_t version);

}  // namespace castscope::gpu::cupti
