// How an agent is compiled. The build uses this recipe, and so does castscope itself on a machine with another PyTorch.
// It calls the compiler directly; neither CMake nor Python's headers are needed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

// Returns the program and its leading arguments, from CXX or the first of g++, c++, clang++; empty = none found.
std::vector<std::string> cxx_compiler();

// Whether there are a compiler, and headers of this PyTorch. An error says what is missing.
absl::Status can_compile(const TorchInstall& torch);

// `sources` is a folder with the extracted sources. The agent that is written to `output` is sealed.
enum class Symbols { kKept, kStripped };
absl::Status compile_agent(const std::string& sources, const TorchInstall& torch, const std::string& output,
                           Symbols symbols = Symbols::kKept);

// Identifies this set of sources, this way of compiling them, and the preload library; it is a part of the cache
// folder's name. It changes with the flags, so another recipe gets another cache folder.
const std::string& source_hash();

}  // namespace castscope::cli
