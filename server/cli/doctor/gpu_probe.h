// Finds out what a job's PyTorch and this machine have for GPUs, without running code of PyTorch or CUDA.
#pragma once

#include <string>
#include <vector>

#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

struct GpuInstall {
  std::string cuda;  // "13.0": the version PyTorch was built for; "" = not for CUDA
  std::string hip;   // likewise
  // The libraries that the dynamic linker would load for PyTorch; "" = it finds none.
  std::string cupti;
  std::string driver_library;            // libcuda.so.1
  std::string cupti_version;             // "13.0.85"; "" = not known
  std::vector<std::string> cupti_lacks;  // functions that castscope would call and that are missing
  // "580.65.06", from that library's name or, where its name has no version, from the kernel module; "" = there is
  // neither. The library may be newer (NVIDIA's compatibility packages), and CUDA works with the library.
  std::string driver_version;
  bool counters_restricted = false;  // according to the kernel module
};

// `driver` is the folder in which the kernel module describes itself.
GpuInstall probe_gpu(const PythonInstall& python, const std::string& driver = "/proc/driver/nvidia");

// Finds the path of `name` in the linker's output under LD_TRACE_LOADED_OBJECTS; "" = it is not there.
std::string loaded_path(const std::string& trace, const std::string& name);

// Returns a libcupti's version, from the wheel that it lies in or from its full name; "" = neither says.
std::string cupti_version_of(const std::string& path);

// Returns a libcuda's version, from its full name; "" = the name has none.
std::string driver_version_of(const std::string& path);

}  // namespace castscope::cli
