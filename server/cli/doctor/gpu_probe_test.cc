#include "server/cli/doctor/gpu_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class GpuProbe : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("gpu-probe-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text = "") {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  // Makes a PyTorch whose libraries are not libraries: the linker says so and goes on.
  GpuInstall probed(const std::string& version) {
    file("torch/version.py", version);
    PythonInstall python;
    python.executable = "/bin/true";
    python.torch.emplace();
    python.torch->folder = (folder_ / "torch").string();
    python.torch->library = file("torch/libtorch_cpu.so");
    return probe_gpu(python, folder_.string());
  }
  fs::path folder_;
};

TEST_F(GpuProbe, WhatTheLinkerPrints) {
  const std::string trace =
      "\tlibcupti.so.13 => /site/torch/lib/../../nvidia/cu13/lib/libcupti.so.13 (0x00007f7a35fa5000)\n"
      "\tlibcuda.so.1 => /usr/lib/x86_64-linux-gnu/libcuda.so.1 (0x00007f7a21000000)\n"
      "\tlibcudart.so.13 => not found\n";
  EXPECT_EQ(loaded_path(trace, "libcupti.so"), "/site/nvidia/cu13/lib/libcupti.so.13");
  EXPECT_EQ(loaded_path(trace, "libcuda.so.1"), "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
  EXPECT_EQ(loaded_path(trace, "libcudart.so.13"), "");
  EXPECT_EQ(loaded_path("\t/preloaded/libcupti.so.13 (0x00007f7a35fa5000)\n", "libcupti.so"),
            "/preloaded/libcupti.so.13");
  EXPECT_EQ(loaded_path("", "libcupti.so"), "");
}

TEST_F(GpuProbe, VersionOfCupti) {
  const std::string toolkit = file("cuda/lib64/libcupti.so.2024.3.2");
  EXPECT_EQ(cupti_version_of(toolkit), "2024.3.2");
  EXPECT_EQ(cupti_version_of("/nowhere/libcupti.so.13"), "");
  const std::string wheel = file("site/nvidia/cuda_cupti/lib/libcupti.so.12");
  fs::create_directories(folder_ / "site/nvidia_cuda_cupti_cu12-12.6.80.dist-info");
  EXPECT_EQ(cupti_version_of(wheel), "12.6.80");
}

TEST_F(GpuProbe, VersionOfTheDriversLibrary) {
  file("compat/libcuda.so.580.65.06");
  fs::create_symlink("libcuda.so.580.65.06", folder_ / "compat/libcuda.so.1");
  EXPECT_EQ(driver_version_of((folder_ / "compat/libcuda.so.1").string()), "580.65.06");
  EXPECT_EQ(driver_version_of(file("double/libcuda.so.1")), "");
  EXPECT_EQ(driver_version_of(""), "");
}

TEST_F(GpuProbe, WhatPyTorchIsBuiltFor) {
  EXPECT_EQ(probed("__version__ = '2.13.0+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n").cuda,
            "13.0");
  const GpuInstall rocm = probed("__all__ = ['cuda', 'hip']\ncuda = None\nhip = '6.4.1'\n");
  EXPECT_EQ(rocm.cuda, "");
  EXPECT_EQ(rocm.hip, "6.4.1");
  EXPECT_EQ(rocm.cupti, "");
}

TEST_F(GpuProbe, WhatTheKernelModuleTells) {
  EXPECT_EQ(probed("").driver_version, "");
  file("version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC …\n");
  file("params", "ModifyDeviceFiles: 1\nRmProfilingAdminOnly: 1\n");
  const GpuInstall closed = probed("");
  EXPECT_EQ(closed.driver_version, "550.54.15");
  EXPECT_TRUE(closed.counters_restricted);
  file("version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (builder)\n");
  file("params", "RmProfilingAdminOnly: 0\n");
  const GpuInstall open = probed("");
  EXPECT_EQ(open.driver_version, "580.65.06");
  EXPECT_FALSE(open.counters_restricted);
}

}  // namespace
}  // namespace castscope::cli
