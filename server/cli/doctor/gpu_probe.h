// What a job's PyTorch and this machine have for GPUs: found out without running code of PyTorch's or CUDA's.
#pragma once

#include <string>
#include <vector>

#include "server/cli/toolkit/python_probe.h"

namespace castscope::cli {

struct GpuInstall {
  std::string cuda;  // "13.0": what PyTorch was built for; "" = not for CUDA
  std::string hip;   // likewise
  // The libraries that the dynamic linker would load for it; "" = it finds none.
  std::string cupti;
  std::string driver_library;            // libcuda.so.1
  std::string cupti_version;             // "13.0.85"; "" = not told
  std::vector<std::string> cupti_lacks;  // functions, of those that castscope calls
  // "580.65.06", of that library or, where its name has none, as the kernel module tells; "" = there is neither. The
  // library may be newer (NVIDIA's compatibility packages), and it is what CUDA works with.
  std::string driver_version;
  bool counters_restricted = false;  // as the kernel module tells
};

// `driver`: the folder in which the kernel module tells of itself.
GpuInstall probe_gpu(const PythonInstall& python, const std::string& driver = "/proc/driver/nvidia");

// Of what the linker prints where LD_TRACE_LOADED_OBJECTS is set; "" = `name` is not in it.
std::string loaded_path(const std::string& trace, const std::string& name);

// Of a libcupti: by the wheel that it lies in, or by its full name; "" = neither tells.
std::string cupti_version_of(const std::string& path);

// Of a libcuda, by its full name; "" = that does not tell.
std::string driver_version_of(const std::string& path);

}  // namespace castscope::cli
