#include "server/cli/doctor/gpu_checks.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace castscope::cli {
namespace {

// Returns the oldest driver that runs programs of this CUDA (NVIDIA, CUDA Compatibility, "minor version
// compatibility").
int oldest_driver(int cuda) {
  if (cuda >= 13) return 580;
  return cuda == 12 ? 525 : 450;
}

int major_of(const std::string& version) { return std::atoi(version.c_str()); }

bool lacks(const GpuInstall& gpu, const char* function) {
  return std::find(gpu.cupti_lacks.begin(), gpu.cupti_lacks.end(), function) != gpu.cupti_lacks.end();
}

Check check_build(const GpuInstall& gpu) {
  if (!gpu.cuda.empty()) return {"cuda", "ok", absl::StrCat("PyTorch is built for CUDA ", gpu.cuda), ""};
  if (!gpu.hip.empty())
    return {"cuda", "ok", absl::StrCat("PyTorch is built for ROCm ", gpu.hip, ": casts are counted, kernels not timed"),
            ""};
  return {"cuda", "ok", "PyTorch is built without CUDA: there is nothing to time on a GPU", ""};
}

Check check_cupti(const GpuInstall& gpu) {
  if (gpu.cupti.empty())
    return {"cupti", "warning", "PyTorch brings no libcupti.so: casts are counted, kernels not timed",
            "install PyTorch's CUDA wheel with all that it requires (pip check), or name the folder of libcupti.so in "
            "LD_LIBRARY_PATH"};
  const std::string found =
      absl::StrCat(gpu.cupti_version.empty() ? "version not known" : gpu.cupti_version, " (", gpu.cupti, ")");
  const std::string newer = "a PyTorch for a newer CUDA brings a newer one";
  if (lacks(gpu, "cuptiActivityPushExternalCorrelationId"))
    return {"cupti", "warning", absl::StrCat(found, "; too old: kernels are not timed"), newer};
  if (lacks(gpu, "cuptiGetGraphNodeId"))
    return {"cupti", "warning", absl::StrCat(found, "; kernels of CUDA graphs cannot be attributed to operators"),
            newer};
  if (lacks(gpu, "cuptiActivityEnableRuntimeApi"))
    return {"cupti", "ok", absl::StrCat(found, "; older than CUDA 12.5: a timed step costs more"), ""};
  return {"cupti", "ok", found, ""};
}

Check check_driver(const GpuInstall& gpu) {
  const std::string version = gpu.driver_version.empty() ? "" : absl::StrCat(" ", gpu.driver_version);
  if (gpu.driver_library.empty()) {
    if (gpu.driver_version.empty()) return {"driver", "ok", "none: this machine has no NVIDIA GPU to work on", ""};
    return {"driver", "warning",
            absl::StrCat("the kernel has NVIDIA's driver", version, ", but there is no libcuda.so.1"),
            "in a container: start it with the GPU (docker run --gpus all); else install the driver's libraries"};
  }
  const std::string found = absl::StrCat(gpu.driver_library, gpu.driver_version.empty() ? "" : ", driver", version);
  const int oldest = oldest_driver(major_of(gpu.cuda));
  if (!gpu.driver_version.empty() && major_of(gpu.driver_version) < oldest)
    return {"driver", "warning", absl::StrCat(found, ": older than CUDA ", gpu.cuda, " asks for"),
            absl::StrCat("install driver ", oldest, " or newer, or a PyTorch for an older CUDA")};
  return {"driver", "ok", found, ""};
}

// People who read about the restriction look for what it breaks.
Check check_counters(const GpuInstall& gpu) {
  return {
      "counters", "ok",
      gpu.counters_restricted
          ? "the GPU's counters are for administrators: castscope reads none, and times of kernels need no privilege"
          : "castscope reads none of the GPU's counters, and times of kernels need no privilege",
      ""};
}

// The result of all of these where nobody asks for anything else.
Check check_by_itself(const GpuInstall& gpu) {
  if (gpu.cuda.empty()) return {"gpu", "ok", "kernels are not timed with this PyTorch", ""};
  if (gpu.cupti.empty() || lacks(gpu, "cuptiActivityPushExternalCorrelationId"))
    return {"gpu", "ok", "casts alone are timed, by CUDA events, since CUPTI cannot be used", ""};
  if (gpu.driver_library.empty()) return {"gpu", "ok", "there is nothing to time without a driver's libcuda.so.1", ""};
  return {"gpu", "ok", "kernels are timed in deep steps once a tensor is on a GPU, unless another profiler is there",
          ""};
}

Check check_wanted(const GpuInstall& gpu, const std::string& wanted) {
  if (wanted == "off")
    return {"gpu", "ok", "CASTSCOPE_GPU=off: kernels are not timed, matrix products not looked at", "unset it"};
  if (wanted == "on")
    return {"gpu", "ok",
            "CASTSCOPE_GPU=on: kernels are timed from the first operator on, whether or not PyTorch uses the GPU", ""};
  if (wanted == "events")
    return {"gpu", "ok", "CASTSCOPE_GPU=events: casts alone are timed, by CUDA events; CUPTI is left alone", ""};
  if (wanted.empty() || wanted == "auto") return check_by_itself(gpu);
  return {"gpu", "warning",
          absl::StrCat("CASTSCOPE_GPU=", wanted, " is not one of auto, on, events and off, and is ignored"),
          "set it to one of those, or unset it"};
}

}  // namespace

std::vector<Check> gpu_checks(const GpuInstall& gpu, const std::string& wanted) {
  std::vector<Check> checks = {check_build(gpu)};
  if (!gpu.cuda.empty()) {
    checks.push_back(check_cupti(gpu));
    checks.push_back(check_driver(gpu));
    if (!gpu.driver_library.empty()) checks.push_back(check_counters(gpu));
  }
  checks.push_back(check_wanted(gpu, wanted));
  return checks;
}

}  // namespace castscope::cli
