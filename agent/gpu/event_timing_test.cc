#include "agent/gpu/event_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace castscope::gpu {
namespace {

using cudart::Error;
using cudart::Event;
using cudart::kSuccess;
using cudart::Stream;

constexpr Error kInvalidHandle = static_cast<Error>(400), kJobsOwn = static_cast<Error>(9);

Stream stream(std::uintptr_t number) { return reinterpret_cast<Stream>(number); }

// A runtime with one thread: events complete when the test says so, and the function that the test names fails.
struct Runtime {
  int device = 0;
  std::uintptr_t made = 0;
  std::uint64_t now_us = 0, complete_us = 0;
  std::map<Event, std::uint64_t> recorded;  // µs
  Error last_error = kSuccess;
  bool capturing = false;
  std::string failing;
  std::vector<std::string> calls;
  int queries = 0;

  Error done(const char* function) {
    calls.emplace_back(function);
    return function == failing ? last_error = kInvalidHandle : kSuccess;
  }
} g_runtime;

Cudart fake_cudart() {
  Cudart c;
  c.get_device = [](int* device) {
    *device = g_runtime.device;
    return kSuccess;
  };
  c.set_device = [](int device) { return g_runtime.done(("device " + std::to_string(device)).c_str()); };
  c.create = [](Event* event, unsigned) {
    *event = reinterpret_cast<Event>(++g_runtime.made);
    return g_runtime.done("create");
  };
  c.record = [](Event event, Stream) {
    g_runtime.recorded[event] = g_runtime.now_us;
    return g_runtime.done("record");
  };
  c.query = [](Event event) {
    ++g_runtime.queries;
    return g_runtime.recorded.at(event) <= g_runtime.complete_us ? kSuccess : cudart::kNotReady;
  };
  c.elapsed_time = [](float* ms, Event begin, Event end) {
    *ms = static_cast<float>(g_runtime.recorded.at(end) - g_runtime.recorded.at(begin)) / 1000;
    return g_runtime.done("elapsed_time");
  };
  c.is_capturing = [](Stream, cudart::CaptureStatus* status) {
    *status = static_cast<cudart::CaptureStatus>(g_runtime.capturing);
    return g_runtime.done("is_capturing");
  };
  c.exchange_capture_mode = [](cudart::CaptureMode*) { return g_runtime.done("capture mode"); };
  c.peek_error = [] { return g_runtime.last_error; };
  c.take_error = [] { return std::exchange(g_runtime.last_error, kSuccess); };
  return c;
}

struct Told {
  std::uint64_t ticket;
  int device;
  std::uint64_t ns;
  bool operator==(const Told&) const = default;
};

class EventTimingTest : public testing::Test, protected EventTiming::Sink {
 protected:
  EventTimingTest() { g_runtime = {}; }
  Told one(std::uint64_t ticket, std::uint64_t ns, int device = 0) { return {ticket, device, ns}; }

  // A launch that keeps the device busy for `us`.
  void launch(std::uint64_t ticket, std::uint64_t us, Stream on = nullptr, bool succeeds = true) {
    EventPair* const pair = events_->before(on, ticket);
    g_runtime.now_us += us;
    if (!succeeds) g_runtime.last_error = kJobsOwn;
    events_->after(pair, succeeds);
  }
  std::vector<Told> read(bool last_chance = false) {
    placed_.clear();
    events_->read(*this, last_chance);
    return placed_;
  }
  EventTiming::Sink::Placed place_cast(std::uint64_t ticket, int device, std::uint64_t ns, bool last) override {
    if (ticket == unknown_) return Sink::Placed::kUnknown;
    if (ticket == open_ && !last) return Sink::Placed::kNotYet;
    placed_.push_back({ticket, device, ns});
    return Sink::Placed::kCounted;
  }

  std::unique_ptr<EventTiming> events_{new EventTiming(fake_cudart())};
  std::vector<Told> placed_;
  std::uint64_t open_ = 0, unknown_ = 0;
};

TEST_F(EventTimingTest, ALaunchTakesWhatLiesBetweenItsEvents) {
  launch(1, 20);
  launch(2, 3);
  g_runtime.complete_us = g_runtime.now_us;
  EXPECT_EQ(read(), (std::vector{one(1, 20'000), one(2, 3'000)}));
  EXPECT_EQ(events_->in_flight(), 0u);
  EXPECT_EQ(events_->untimed(), 0u);
}

TEST_F(EventTimingTest, WhatTheDeviceHasNotDoneIsWaitedFor) {
  launch(1, 20);
  launch(2, 3);
  g_runtime.complete_us = 20;
  EXPECT_EQ(read(), std::vector{one(1, 20'000)});
  EXPECT_EQ(events_->in_flight(), 1u);
  g_runtime.complete_us = 23;
  EXPECT_EQ(read(), std::vector{one(2, 3'000)});
}

TEST_F(EventTimingTest, OfAStreamOnlyTheFirstThatIsNotDoneIsAskedFor) {
  for (std::uint64_t ticket = 1; ticket <= 50; ++ticket) launch(ticket, 5, stream(1));
  read();
  EXPECT_EQ(g_runtime.queries, 1);
}

TEST_F(EventTimingTest, StreamsAndDevicesDoNotWaitForEachOther) {
  launch(1, 100, stream(1));
  g_runtime.now_us = 0;
  launch(2, 5, stream(2));
  g_runtime.device = 1;
  g_runtime.now_us = 0;
  launch(3, 5, stream(1));
  g_runtime.complete_us = 5;
  EXPECT_EQ(read(), (std::vector{one(2, 5'000), one(3, 5'000, 1)}));
}

TEST_F(EventTimingTest, EventsAreUsedAgain) {
  for (std::uint64_t ticket = 1; ticket <= 10; ++ticket) {
    launch(ticket, 5);
    g_runtime.complete_us = g_runtime.now_us;
    read();
  }
  EXPECT_EQ(g_runtime.made, 2u);
}

TEST_F(EventTimingTest, WithoutAFreePairALaunchIsCountedAsUntimed) {
  for (std::uint64_t i = 0; i < EventPairs::kMost + 3; ++i) launch(1, 5);
  EXPECT_EQ(events_->untimed(), 3u);
  g_runtime.complete_us = g_runtime.now_us;
  EXPECT_EQ(read().size(), EventPairs::kMost);
}

// Changing the mode makes a context on the thread's device, which is the first one unless it was set.
TEST_F(EventTimingTest, TheReadersThreadOpensNoDeviceThatTheJobDoesNotUse) {
  read();
  EXPECT_TRUE(g_runtime.calls.empty());
  g_runtime.device = 3;
  launch(1, 20);
  g_runtime.calls.clear();
  read();
  ASSERT_GE(g_runtime.calls.size(), 2u);
  EXPECT_EQ(g_runtime.calls[0], "device 3");
  EXPECT_EQ(g_runtime.calls[1], "capture mode");
  launch(2, 20);
  g_runtime.calls.clear();
  read();
  EXPECT_EQ(std::count(g_runtime.calls.begin(), g_runtime.calls.end(), "capture mode"), 0) << "once is enough";
}

TEST_F(EventTimingTest, AThreadOfTheJobsKeepsItsDeviceAndMode) {
  launch(1, 20);
  g_runtime.complete_us = g_runtime.now_us;
  g_runtime.calls.clear();
  read(true);
  EXPECT_EQ(g_runtime.calls, std::vector<std::string>{"elapsed_time"});
}

TEST_F(EventTimingTest, AStreamThatIsCapturedMeetsNoEvent) {
  g_runtime.capturing = true;
  launch(1, 5);
  EXPECT_EQ(g_runtime.calls, std::vector<std::string>{"is_capturing"});
  EXPECT_EQ(events_->untimed(), 1u);
}

TEST_F(EventTimingTest, ALaunchThatFailedIsNotTimedAndItsErrorStays) {
  launch(1, 5, nullptr, false);
  EXPECT_EQ(g_runtime.last_error, kJobsOwn);
  EXPECT_EQ(events_->untimed(), 0u) << "nothing was launched";
  EXPECT_EQ(events_->in_flight(), 0u);
}

TEST_F(EventTimingTest, AnErrorOfTheJobsIsLeftAsItIs) {
  g_runtime.last_error = kJobsOwn;
  launch(1, 5);
  EXPECT_EQ(g_runtime.last_error, kJobsOwn);
  EXPECT_TRUE(g_runtime.calls.empty());
  EXPECT_EQ(events_->untimed(), 1u);
}

class FailingCallTest : public EventTimingTest, public testing::WithParamInterface<const char*> {};

TEST_P(FailingCallTest, LeavesNoErrorAndIsTheLast) {
  g_runtime.failing = GetParam();
  launch(1, 5);
  EXPECT_EQ(g_runtime.last_error, kSuccess);
  EXPECT_EQ(events_->untimed(), 1u);
  g_runtime.calls.clear();
  launch(2, 5);
  EXPECT_TRUE(g_runtime.calls.empty());
  EXPECT_EQ(events_->untimed(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Calls, FailingCallTest, testing::Values("create", "record"));

TEST_F(EventTimingTest, AStreamThatCannotBeAskedLeavesNoErrorEither) {
  g_runtime.failing = "is_capturing";
  launch(1, 5);
  EXPECT_EQ(g_runtime.last_error, kSuccess);
  g_runtime.failing = "";
  launch(2, 5);
  EXPECT_EQ(events_->untimed(), 1u);
  EXPECT_EQ(events_->in_flight(), 1u);
}

TEST_F(EventTimingTest, ATimeThatCannotBeReadIsMissing) {
  launch(1, 5);
  g_runtime.complete_us = g_runtime.now_us;
  g_runtime.failing = "elapsed_time";
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(g_runtime.last_error, kSuccess);
  EXPECT_EQ(events_->untimed(), 1u);
  EXPECT_EQ(events_->in_flight(), 0u);
}

TEST_F(EventTimingTest, WhoseOperatorIsNotOverIsOfferedAgain) {
  open_ = 1;
  launch(1, 5);
  launch(2, 6);
  g_runtime.complete_us = g_runtime.now_us;
  EXPECT_EQ(read(), std::vector{one(2, 6'000)});
  EXPECT_EQ(events_->in_flight(), 1u);
  open_ = 0;
  EXPECT_EQ(read(), std::vector{one(1, 5'000)});
}

TEST_F(EventTimingTest, WhatNobodyKnowsIsMissing) {
  unknown_ = 1;
  launch(1, 5);
  g_runtime.complete_us = g_runtime.now_us;
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(events_->untimed(), 1u);
  EXPECT_EQ(events_->in_flight(), 0u);
}

TEST_F(EventTimingTest, TheLastChanceCountsTheRestAsMissing) {
  open_ = 1;
  launch(1, 5);
  launch(2, 6);
  g_runtime.complete_us = 5;
  EXPECT_EQ(read(true), std::vector{one(1, 5'000)});
  EXPECT_EQ(events_->untimed(), 1u);
  EXPECT_EQ(events_->in_flight(), 0u);
}

}  // namespace
}  // namespace castscope::gpu
