#include "agent/gpu/launch_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "agent/gpu/captures.h"
#include "agent/gpu/event_timing.h"

namespace castscope::gpu {

std::atomic<int> g_captures{0};

namespace {
std::uint64_t g_cast = 0;
}  // namespace
std::uint64_t present_cast() noexcept { return g_cast; }

namespace {

using testing::Test;
using Calls = std::vector<std::string>;

class LaunchCallsTest : public Test, protected EventTiming::Sink {
 protected:
  static void SetUpTestSuite() {
    void* const user = dlopen(LAUNCH_USER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(user, nullptr) << dlerror();
    launch_ = reinterpret_cast<cudart::Error (*)(int, cudart::Stream)>(dlsym(user, "user_launch"));
    calls_ = reinterpret_cast<Calls* (*)()>(dlsym(user, "cudart_double_calls"))();
    ASSERT_EQ(launch_(0, nullptr), cudart::kSuccess) << "its words are bound";
    events_ = watch_launches();
    ASSERT_NE(events_, nullptr);
  }
  LaunchCallsTest() {
    g_cast = 0, g_captures = 0;
    events_->switch_on(true);
    calls_->clear();
  }
  Calls launch(int way) {
    calls_->clear();
    EXPECT_EQ(launch_(way, nullptr), cudart::kSuccess) << "arguments are as they were";
    return *calls_;
  }
  std::vector<std::uint64_t> read() {
    tickets_.clear();
    events_->read(*this, false);
    return tickets_;
  }
  Placed place_cast(std::uint64_t ticket, int, std::uint64_t ns, bool) override {
    EXPECT_EQ(ns, 250'000u);
    tickets_.push_back(ticket);
    return Placed::kCounted;
  }

  static cudart::Error (*launch_)(int, cudart::Stream);
  static Calls* calls_;
  static EventTiming* events_;
  std::vector<std::uint64_t> tickets_;
};
cudart::Error (*LaunchCallsTest::launch_)(int, cudart::Stream) = nullptr;
Calls* LaunchCallsTest::calls_ = nullptr;
EventTiming* LaunchCallsTest::events_ = nullptr;

TEST_F(LaunchCallsTest, OutsideOfCastsALaunchOnlyPassesBy) {
  EXPECT_EQ(launch(0), Calls{"cudaLaunchKernel"});
  EXPECT_EQ(launch(1), (Calls{"__cudaLaunchKernel", "cudaLaunchKernel"}));
  EXPECT_EQ(launch(2), Calls{"cudaLaunchKernelExC"});
  EXPECT_TRUE(read().empty());
}

TEST_F(LaunchCallsTest, ALaunchOfACastStandsBetweenTwoEvents) {
  g_cast = 7;
  EXPECT_EQ(launch(0), (Calls{"cudaEventRecord", "cudaLaunchKernel", "cudaEventRecord"}));
  g_cast = 8;
  EXPECT_EQ(launch(2), (Calls{"cudaEventRecord", "cudaLaunchKernelExC", "cudaEventRecord"}));
  EXPECT_EQ(read(), (std::vector<std::uint64_t>{7, 8}));
}

TEST_F(LaunchCallsTest, WhatTheRuntimeCallsOfItselfIsPartOfOneLaunch) {
  g_cast = 7;
  EXPECT_EQ(launch(1), (Calls{"cudaEventRecord", "__cudaLaunchKernel", "cudaLaunchKernel", "cudaEventRecord"}));
  EXPECT_EQ(read(), std::vector<std::uint64_t>{7});
}

TEST_F(LaunchCallsTest, WhileAnybodyCapturesThereIsNoEvent) {
  g_cast = 7;
  g_captures = 1;
  const std::uint64_t before = events_->untimed();
  EXPECT_EQ(launch(0), Calls{"cudaLaunchKernel"});
  EXPECT_EQ(events_->untimed(), before + 1);
}

TEST_F(LaunchCallsTest, SwitchedOffThereIsNoneEither) {
  g_cast = 7;
  events_->switch_on(false);
  EXPECT_EQ(launch(0), Calls{"cudaLaunchKernel"});
  EXPECT_TRUE(read().empty());
}

TEST_F(LaunchCallsTest, ItIsLookedForOnce) { EXPECT_EQ(watch_launches(), events_); }

}  // namespace
}  // namespace castscope::gpu
