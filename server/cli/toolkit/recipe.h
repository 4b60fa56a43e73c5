// How the preload library and the agent are compiled: the one way for the build and for castscope itself on a machine
// with another PyTorch. A direct compiler call; neither CMake nor Python's headers are needed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

// Program and leading arguments, from CXX (CC) or the first of g++, c++, clang++ (gcc, cc, clang); empty = none found.
std::vector<std::string> cxx_compiler();
std::vector<std::string> c_compiler();

// `sources` is a folder with the extracted sources. Both write to a temporary name and rename.
absl::Status compile_preload(const std::string& sources, const std::string& output);
absl::Status compile_agent(const std::string& sources, const TorchInstall& torch, const std::string& output);

// Names this very set of sources, and this way of compiling them: part of the cache folder's name. It changes with the
// flags, so that another recipe is another cache folder.
const std::string& source_hash();

}  // namespace castscope::cli
