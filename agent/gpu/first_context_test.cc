#include "agent/gpu/first_context.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>

#include "agent/gpu/cudart_abi.h"
#include "agent/gpu/cupti/cupti_abi.h"
#include "agent/gpu/cupti/job_cupti.h"

namespace castscope::gpu {
namespace {

// The process's first context is made once: each test runs in a process of its own.
class FirstContextTest : public testing::Test {
 protected:
  FirstContextTest() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    void* const cupti = load(LIBCUPTI);
    void* const cuda = load(LIBCUDA);
    void* const user = load(LAUNCH_USER);
    recorded_ = reinterpret_cast<std::set<std::uint32_t>* (*)()>(dlsym(cupti, "cupti_double_recorded"))();
    active_ = reinterpret_cast<int* (*)()>(dlsym(cuda, "cuda_double_active"))();
    launch = reinterpret_cast<decltype(launch)>(dlsym(user, "user_launch"));
    count_devices = reinterpret_cast<decltype(count_devices)>(dlsym(user, "user_counts_devices"));
  }
  static void* load(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    return library;
  }
  bool recorded() const { return recorded_->contains(211); }  // cudaLaunchKernel

  cudart::Error (*launch)(int, cudart::Stream) = nullptr;
  int (*count_devices)() = nullptr;
  std::set<std::uint32_t>* recorded_ = nullptr;
  int* active_ = nullptr;
};

// Runs the statements in a process of its own, which fails where an expectation does.
#define IN_PROCESS(statements)                                                \
  EXPECT_EXIT(                                                                \
      {                                                                       \
        statements;                                                           \
        std::exit(testing::Test::HasFailure() ? EXIT_FAILURE : EXIT_SUCCESS); \
      },                                                                      \
      testing::ExitedWithCode(EXIT_SUCCESS), "")

TEST_F(FirstContextTest, FunctionsAreRecordedFromTheQuestionForDevicesUntilTheFirstLaunch) {
  for (int way = 0; way < 5; ++way) {
    IN_PROCESS({
      watch_first_context();
      EXPECT_FALSE(recorded());
      EXPECT_EQ(count_devices(), 1);
      EXPECT_TRUE(recorded());
      EXPECT_EQ(count_devices(), 1);
      EXPECT_TRUE(recorded());
      EXPECT_EQ(launch(way, nullptr), cudart::kSuccess);
      EXPECT_FALSE(recorded()) << way;
      EXPECT_EQ(launch(way, nullptr), cudart::kSuccess);
      EXPECT_TRUE(stop_watching_first_context());
      EXPECT_EQ(count_devices(), 1);
      EXPECT_FALSE(recorded());
    });
  }
}

TEST_F(FirstContextTest, AContextThatAnotherLibraryMadeInBetweenCounts) {
  IN_PROCESS({
    watch_first_context();
    count_devices();
    EXPECT_TRUE(stop_watching_first_context());
    EXPECT_FALSE(recorded());
  });
}

TEST_F(FirstContextTest, AfterAContextItIsTooLate) {
  IN_PROCESS({
    *active_ = 1;
    watch_first_context();
    count_devices();
    EXPECT_FALSE(recorded());
    EXPECT_FALSE(stop_watching_first_context());
  });
}

TEST_F(FirstContextTest, NobodyAskedForDevices) {
  IN_PROCESS({
    watch_first_context();
    launch(0, nullptr);
    EXPECT_FALSE(stop_watching_first_context());
    count_devices();
    EXPECT_FALSE(recorded());
  });
}

TEST_F(FirstContextTest, AProfilerFromOutsideIsLeftAlone) {
  IN_PROCESS({
    setenv("CUDA_INJECTION64_PATH", "/opt/profiler/libinjection.so", 1);
    watch_first_context();
    count_devices();
    EXPECT_FALSE(recorded());
    EXPECT_FALSE(stop_watching_first_context());
  });
}

TEST_F(FirstContextTest, WhatTheJobsOwnClientRecordsIsNotSwitchedOff) {
  IN_PROCESS({
    watch_first_context();
    count_devices();
    const_cast<JobClient&>(job_client()).enabled(cupti::kRuntime);
    launch(0, nullptr);
    EXPECT_TRUE(recorded());
  });
}

}  // namespace
}  // namespace castscope::gpu
