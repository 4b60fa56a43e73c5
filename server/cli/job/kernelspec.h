// Kernels of Jupyter that run under castscope: a folder with a kernel.json that says how the kernel is started.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace castscope::cli {

// What a Python says of Jupyter.
struct JupyterPython {
  std::string executable, version;  // "3.11"
  std::string prefix;               // of its environment
  std::string data_folder;          // where Jupyter looks for what belongs to the user
};

// An error says that this Python has no ipykernel, or does not run.
absl::StatusOr<JupyterPython> ask_jupyter(const std::string& python);

struct Kernelspec {
  std::string name;  // Jupyter's name of it, which is that of its folder
  std::string display_name;
  std::vector<std::string> command;  // up to the Python
};

// "" or what is wrong with a kernel's name: Jupyter takes letters, digits and "._-".
std::string problem_of_kernel_name(const std::string& name);

// The text of kernel.json.
std::string kernel_json(const Kernelspec& spec);

// Writes kernel.json into FOLDER, which is made. A kernel that is not castscope's is not overwritten unless `force`.
absl::Status install_kernel(const std::string& folder, const Kernelspec& spec, bool force);

}  // namespace castscope::cli
