#include "server/cli/doctor/gpu_checks.h"

#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

GpuInstall cuda_machine() {
  GpuInstall gpu;
  gpu.cuda = "13.0";
  gpu.cupti = "/venv/libcupti.so.13";
  gpu.cupti_version = "13.0.85";
  gpu.driver_library = "/usr/lib/libcuda.so.1";
  gpu.driver_version = "580.65.06";
  return gpu;
}

Check of(const std::string& name, const GpuInstall& gpu, const std::string& wanted = "") {
  for (Check& check : gpu_checks(gpu, wanted))
    if (check.name == name) return check;
  return {};
}

TEST(GpuChecks, AllThatIsNeeded) {
  for (const Check& check : gpu_checks(cuda_machine(), "")) EXPECT_EQ(check.state, "ok") << check.name;
  EXPECT_EQ(of("cuda", cuda_machine()).found, "PyTorch is built for CUDA 13.0");
  EXPECT_EQ(of("cupti", cuda_machine()).found, "13.0.85 (/venv/libcupti.so.13)");
  EXPECT_EQ(of("driver", cuda_machine()).found, "/usr/lib/libcuda.so.1, driver 580.65.06");
}

TEST(GpuChecks, WithoutCudaNothingElseIsAsked) {
  const auto checks = gpu_checks({}, "");
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].state, "ok");
  GpuInstall rocm;
  rocm.hip = "6.4";
  EXPECT_NE(of("cuda", rocm).found.find("ROCm 6.4"), std::string::npos);
}

TEST(GpuChecks, NoGpuIsNoFault) {
  GpuInstall gpu = cuda_machine();
  gpu.driver_library = gpu.driver_version = "";
  EXPECT_EQ(of("driver", gpu).state, "ok");
  EXPECT_EQ(of("counters", gpu).name, "");
}

TEST(GpuChecks, ContainerWithoutTheDriversLibraries) {
  GpuInstall gpu = cuda_machine();
  gpu.driver_library = "";
  EXPECT_EQ(of("driver", gpu).state, "warning");
  EXPECT_NE(of("driver", gpu).mend.find("--gpus all"), std::string::npos);
}

TEST(GpuChecks, OldDriver) {
  GpuInstall gpu = cuda_machine();
  gpu.driver_version = "575.51.03";
  EXPECT_EQ(of("driver", gpu).state, "warning");
  EXPECT_NE(of("driver", gpu).mend.find("driver 580"), std::string::npos);
  gpu.cuda = "12.6";
  EXPECT_EQ(of("driver", gpu).state, "ok");
}

TEST(GpuChecks, CuptiThatIsMissingOrOld) {
  GpuInstall gpu = cuda_machine();
  gpu.cupti_lacks = {"cuptiActivityEnableRuntimeApi"};
  EXPECT_EQ(of("cupti", gpu).state, "ok");
  EXPECT_NE(of("cupti", gpu).found.find("costs more"), std::string::npos);
  gpu.cupti_lacks.insert(gpu.cupti_lacks.begin(), "cuptiActivityPushExternalCorrelationId");
  EXPECT_NE(of("cupti", gpu).found.find("not timed"), std::string::npos);
  gpu.cupti = "";
  EXPECT_EQ(of("cupti", gpu).state, "warning");
}

TEST(GpuChecks, WhatComesOfIt) {
  GpuInstall gpu = cuda_machine();
  EXPECT_NE(of("gpu", gpu).found.find("kernels are timed"), std::string::npos);
  gpu.driver_library = "";
  EXPECT_NE(of("gpu", gpu).found.find("nothing to time"), std::string::npos);
  gpu.cupti_lacks = {"cuptiActivityPushExternalCorrelationId"};
  EXPECT_NE(of("gpu", gpu).found.find("CUDA events"), std::string::npos);
  EXPECT_NE(of("gpu", {}).found.find("not timed"), std::string::npos);
}

TEST(GpuChecks, RestrictedCountersAreNoHindrance) {
  GpuInstall gpu = cuda_machine();
  gpu.counters_restricted = true;
  EXPECT_EQ(of("counters", gpu).state, "ok");
  EXPECT_NE(of("counters", gpu).found.find("administrators"), std::string::npos);
}

TEST(GpuChecks, WhatIsWanted) {
  EXPECT_NE(of("gpu", {}, "off").found.find("not timed"), std::string::npos);
  EXPECT_EQ(of("gpu", {}, "on").state, "ok");
  EXPECT_NE(of("gpu", {}, "events").found.find("CUDA events"), std::string::npos);
  EXPECT_EQ(of("gpu", {}, "auto").state, "ok");
  EXPECT_EQ(of("gpu", {}, "yes").state, "warning");
}

}  // namespace
}  // namespace castscope::cli
