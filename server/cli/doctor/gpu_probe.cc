#include "server/cli/doctor/gpu_probe.h"

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/toolkit/cache_folder.h"
#include "server/cli/toolkit/child.h"
#include "server/cli/toolkit/elf.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// Functions that agent/gpu/cupti/cupti.cc looks up: the first is in each CUPTI that it can work with, the others only
// in newer ones.
constexpr const char* kAskedFor[] = {"cuptiActivityPushExternalCorrelationId", "cuptiGetGraphNodeId",
                                     "cuptiActivityEnableRuntimeApi"};

std::string read_file(const fs::path& path) { return files::text_or_nothing(path.string()); }

std::string first_group(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

// Asks the linker itself about this Python, with everything that has an influence: RPATHs, LD_LIBRARY_PATH, LD_PRELOAD,
// its cache. Libraries are mapped and none of their code runs. The linker does not know CUDA, so the driver is asked
// for by the name by which CUDA opens it.
std::string trace_of_loading(const PythonInstall& python) {
  if (!fits_into_ld_preload(python.torch->library)) return "";
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preload =
      absl::StrCat(before == nullptr ? "" : before, ":", python.torch->library, ":libcuda.so.1");
  auto traced =
      run_child({python.executable},
                {.folder = "", .environment = {"LD_TRACE_LOADED_OBJECTS=1", absl::StrCat("LD_PRELOAD=", preload)}});
  return traced.ok() ? traced->out : "";
}

std::vector<std::string> lacking_functions(const std::string& cupti) {
  std::vector<std::string> lacking;
  for (const char* function : kAskedFor) {
    auto has = file_contains(cupti, function);
    if (has.ok() && !*has) lacking.emplace_back(function);
  }
  return lacking;
}

}  // namespace

std::string loaded_path(const std::string& trace, const std::string& name) {
  for (absl::string_view line : absl::StrSplit(trace, '\n')) {
    const std::string path = first_group(std::string(line), R"((/.*) \(0x[0-9a-f]+\)$)");
    const std::string file = fs::path(path).filename().string();
    if (file == name || absl::StartsWith(file, name + ".")) return fs::path(path).lexically_normal().string();
  }
  return "";
}

std::string cupti_version_of(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return "";
  // …/site-packages/nvidia/cu13/lib/libcupti.so.13, or …/nvidia/cuda_cupti/lib: three or four folders up.
  fs::path folder = real.parent_path();
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path()) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string version =
          first_group(entry.path().filename().string(), R"(^nvidia_cuda_cupti(?:_cu\d+)?-(.+)\.dist-info$)");
      if (!version.empty()) return version;
    }
  }
  return first_group(real.filename().string(), R"(\.so\.(.+)$)");
}

std::string driver_version_of(const std::string& path) {
  std::error_code error;
  const std::string name = fs::canonical(path, error).filename().string();
  return first_group(name, R"(^libcuda\.so\.(\d+\.[\d.]+)$)");
}

GpuInstall probe_gpu(const PythonInstall& python, const std::string& driver) {
  GpuInstall gpu;
  const std::string version = read_file(fs::path(python.torch->folder) / "version.py");
  gpu.cuda = first_group(version, R"(\bcuda\b[^=\n]*= *['"]([^'"]+)['"])");
  gpu.hip = first_group(version, R"(\bhip\b[^=\n]*= *['"]([^'"]+)['"])");
  const std::string trace = trace_of_loading(python);
  gpu.cupti = loaded_path(trace, "libcupti.so");
  gpu.driver_library = loaded_path(trace, "libcuda.so.1");
  if (!gpu.cupti.empty()) {
    gpu.cupti_version = cupti_version_of(gpu.cupti);
    gpu.cupti_lacks = lacking_functions(gpu.cupti);
  }
  gpu.driver_version = driver_version_of(gpu.driver_library);
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 …"; "… Open Kernel Module for x86_64  580…"
  if (gpu.driver_version.empty())
    gpu.driver_version = first_group(read_file(fs::path(driver) / "version"), R"(Kernel Module.*?  (\d[\d.]*))");
  gpu.counters_restricted = first_group(read_file(fs::path(driver) / "params"), R"(RmProfilingAdminOnly: (\d))") == "1";
  return gpu;
}

}  // namespace castscope::cli
