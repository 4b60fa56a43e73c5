// Finds out which Python and which PyTorch a command will use, without importing torch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

struct TorchInstall {
  std::string version;                       // "2.13.0+cpu"
  std::string folder;                        // …/site-packages/torch
  std::string library;                       // libtorch_cpu.so
  std::string core_library;                  // libc10.so
  std::string key;                           // library_key(library)
  std::vector<std::string> include_folders;  // empty: its headers are not installed
  std::string headers_version;               // "2.13" of the headers; "" where they do not tell
  bool cxx11_abi = true;
};

// Describes the PyTorch in a folder, "…/site-packages/torch", which need not be one that can be imported here.
absl::StatusOr<TorchInstall> describe_torch(const std::string& folder);

// Whether the headers are known to be those of another PyTorch.
bool has_foreign_headers(const TorchInstall& torch);

struct PythonInstall {
  std::string executable;
  std::string version;  // "3.11.7"
  bool has_castscope = false;
  std::optional<TorchInstall> torch;
  std::string torch_problem;  // torch is installed, but broken
};

// Returns true if the file's name is one that Python interpreters have, such as "python3.11".
bool looks_like_python(const std::string& path);

// Returns the Python that this command names: itself, by its #! line, by the runner that it is (python_runner.h), or
// among its arguments. "" when it names none.
std::string named_python(const std::vector<std::string>& command);

// Returns the Python that this command runs: itself, by its #! line, among its arguments, or else python3 of PATH. ""
// when there is none.
std::string python_of(const std::vector<std::string>& command);

absl::StatusOr<PythonInstall> probe_python(const std::string& executable);

}  // namespace castscope::cli
