#include "server/cli/doctor/command_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_split.h"

namespace castscope::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// "" when nothing is known against the command.
std::string found_in(const std::string& command) {
  const auto checks = command_checks(absl::StrSplit(command, ' ', absl::SkipEmpty()));
  EXPECT_LE(checks.size(), 1u);
  return checks.empty() ? "" : checks[0].state + ": " + checks[0].found;
}

TEST(CommandChecks, WhatDropsTheEnvironmentIsKnown) {
  EXPECT_THAT(found_in("env -i PATH=/bin python train.py"), StartsWith("problem: env starts the job with an empty"));
  EXPECT_THAT(found_in("env --unset=LD_PRELOAD python train.py"), StartsWith("warning: env takes variables out"));
  EXPECT_THAT(found_in("/usr/bin/sudo -u me python train.py"), StartsWith("problem: sudo drops LD_PRELOAD"));
  EXPECT_THAT(found_in("timeout 60 ssh host python train.py"), StartsWith("problem: ssh "));
  EXPECT_THAT(found_in("docker run image python train.py"), HasSubstr("in a container"));
  EXPECT_THAT(found_in("apptainer exec image.sif python train.py"), HasSubstr("does not see the library's folder"));
  EXPECT_THAT(found_in("chroot /srv/image python train.py"), StartsWith("warning: chroot passes LD_PRELOAD on"));
  EXPECT_THAT(found_in("srun --container-image=x python train.py"), HasSubstr("in a container"));
  EXPECT_THAT(found_in("srun --export=NONE python train.py"), StartsWith("problem: srun"));
  EXPECT_THAT(found_in("mpirun -n 8 --hostfile hosts python train.py"), HasSubstr("-x names"));
  EXPECT_THAT(found_in("deepspeed --hostfile=hosts train.py"), HasSubstr("only few variables"));
  EXPECT_THAT(found_in("ray job submit -- python train.py"), HasSubstr("starts workers"));
}

TEST(CommandChecks, WhatPassesItOnIsLeftAlone) {
  for (const char* command : {"", "python train.py", "env X=1 python train.py", "torchrun --nproc-per-node 2 train.py",
                              "srun -n 2 python train.py", "mpirun -n 2 python train.py", "deepspeed train.py"})
    EXPECT_THAT(found_in(command), IsEmpty()) << command;
}

TEST(CommandChecks, TheJobsOwnWordsAreNotTakenForPrograms) {
  EXPECT_THAT(found_in("python sudo docker -i"), IsEmpty());
  EXPECT_THAT(found_in("mpirun -n 2 python train.py --hostfile x"), IsEmpty());
}

class EnvironmentChecks : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"LD_PRELOAD", "CASTSCOPE_AGENTS", "CASTSCOPE_RUN", "RAY_LD_PRELOAD_ON_WORKERS"})
      unsetenv(name);
  }
  static std::string found() {
    const auto checks = environment_checks();
    EXPECT_LE(checks.size(), 1u);
    return checks.empty() ? "" : checks[0].found;
  }
};

TEST_F(EnvironmentChecks, NothingIsWrongWithoutCastscope) { EXPECT_THAT(environment_checks(), IsEmpty()); }

TEST_F(EnvironmentChecks, ALibraryThatIsNotInTheContainerIsNamed) {
  setenv("LD_PRELOAD", "/lib/other.so:/nowhere/libcastscope.so", 1);
  EXPECT_THAT(found(), StartsWith("LD_PRELOAD names /nowhere/libcastscope.so, which is not here"));
}

TEST_F(EnvironmentChecks, ALostPreloadIsNoticed) {
  setenv("CASTSCOPE_AGENTS", "/somewhere", 1);
  EXPECT_THAT(found(), HasSubstr("without LD_PRELOAD"));
  setenv("LD_PRELOAD", "/lib/other.so", 1);
  EXPECT_THAT(found(), HasSubstr("without LD_PRELOAD"));
}

TEST_F(EnvironmentChecks, RaysSwitchIsKnown) {
  setenv("RAY_LD_PRELOAD_ON_WORKERS", "0", 1);
  EXPECT_THAT(found(), StartsWith("RAY_LD_PRELOAD_ON_WORKERS=0"));
}

}  // namespace
}  // namespace castscope::cli
