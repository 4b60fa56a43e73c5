#include "server/cli/doctor/system_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

using ::testing::HasSubstr;

TEST(SystemChecks, AFolderThatCannotBeWrittenIsAWarning) {
  const Check check = check_shared_memory("/proc/nowhere");
  EXPECT_EQ(check.state, "warning");
  EXPECT_THAT(check.found, HasSubstr("/proc/nowhere cannot be written"));
}

TEST(SystemChecks, TheRoomIsTold) { EXPECT_THAT(check_shared_memory("/tmp").found, HasSubstr(" MB free in /tmp")); }

TEST(SystemChecks, WhatCastscopeUsesIsAllowedHere) { EXPECT_EQ(check_system_calls().state, "ok"); }

TEST(SystemChecks, WhatKeepsCastscopeOutOfRunningJobsIsTold) {
  EXPECT_EQ(check_tracing({.user = 1000}).state, "ok");
  const Check check = check_tracing({.user = 1000, .yama_scope = 1});
  EXPECT_EQ(check.state, "warning");
  EXPECT_THAT(check.found, HasSubstr("ptrace_scope is 1"));
  EXPECT_THAT(check.mend, HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_THAT(check_tracing({.user = 1000, .yama_scope = 3}).mend, HasSubstr("boot"));
}

}  // namespace
}  // namespace castscope::cli
