#include "agent/gpu/seat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace castscope::gpu {
namespace {

using cupti::Result;

// A CUPTI whose seat can be taken by somebody else, and in which anything may fail.
struct Cupti {
  bool seat_taken = false;
  std::string failing;  // the function that fails
  std::vector<std::string> calls;
  std::set<int> kinds;
  std::set<std::uint32_t> functions;
  std::size_t lost = 0;
} g_cupti;

Result note(const std::string& call) {
  g_cupti.calls.push_back(call);
  return call == g_cupti.failing ? 7 : cupti::kSuccess;
}

cupti::Api fake_api() {
  cupti::Api api;
  api.subscribe = [](cupti::Subscriber* subscriber, cupti::Callback, void*) -> Result {
    if (g_cupti.seat_taken) return cupti::kMultipleSubscribers;
    *subscriber = &g_cupti;
    return note("subscribe");
  };
  api.unsubscribe = [](cupti::Subscriber) { return note("unsubscribe"); };
  api.enable_callback = [](std::uint32_t, cupti::Subscriber, int, std::uint32_t) { return note("callback"); };
  api.graph_node_id = [](void*, std::uint64_t*) { return cupti::kSuccess; };
  api.register_callbacks = [](cupti::BufferRequested, cupti::BufferCompleted) { return note("register"); };
  api.enable = [](cupti::ActivityKind kind) {
    g_cupti.kinds.insert(kind);
    return note("enable " + std::to_string(kind));
  };
  api.disable = [](cupti::ActivityKind kind) {
    g_cupti.kinds.erase(kind);
    return note("disable");
  };
  api.enable_runtime = [](std::uint32_t id, std::uint8_t on) {
    if (on != 0)
      g_cupti.functions.insert(id);
    else
      g_cupti.functions.erase(id);
    return cupti::kSuccess;
  };
  api.enable_driver = [](std::uint32_t, std::uint8_t) { return cupti::kSuccess; };
  api.flush_all = [](std::uint32_t flags) { return note(flags == 0 ? "flush" : "flush all"); };
  api.dropped = [](void*, std::uint32_t, std::size_t* n) {
    *n = g_cupti.lost;
    return cupti::kSuccess;
  };
  api.result_string = [](Result, const char** text) {
    *text = "CUPTI_ERROR_INVALID_OPERATION";
    return cupti::kSuccess;
  };
  return api;
}

class SeatTest : public testing::Test {
 protected:
  SeatTest() { g_cupti = {}; }
  bool called(const std::string& call) const {
    return std::find(g_cupti.calls.begin(), g_cupti.calls.end(), call) != g_cupti.calls.end();
  }
  const cupti::Api api_ = fake_api();
  cupti::Api older_ = fake_api();
  Seat seat_{api_, {nullptr, nullptr, nullptr}};
  std::string why_;
};

TEST_F(SeatTest, AFreeSeatIsTakenAndLeftAsItWas) {
  ASSERT_EQ(seat_.take(false, &why_), Seat::Taken::kYes) << why_;
  EXPECT_TRUE(seat_.is_ours());
  EXPECT_EQ(g_cupti.kinds,
            (std::set<int>{cupti::kMemcpy, cupti::kMemset, cupti::kConcurrentKernel, cupti::kExternalCorrelation}));
  EXPECT_TRUE(g_cupti.functions.contains(211)) << "cudaLaunchKernel";
  EXPECT_EQ(g_cupti.calls.back(), "callback");
  seat_.leave();
  EXPECT_FALSE(seat_.is_ours());
  EXPECT_TRUE(g_cupti.kinds.empty());
  EXPECT_TRUE(g_cupti.functions.empty());
  EXPECT_EQ(g_cupti.calls.back(), "unsubscribe");
}

TEST_F(SeatTest, AllFunctionsAreRecordedWhereTheyCannotBeChosen) {
  older_.enable_runtime = nullptr;
  Seat seat(older_, {nullptr, nullptr, nullptr});
  ASSERT_EQ(seat.take(false, &why_), Seat::Taken::kYes);
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kRuntime));
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kDriver));
  seat.leave();
  EXPECT_TRUE(g_cupti.kinds.empty());
}

TEST_F(SeatTest, AllFunctionsAreRecordedOnRequest) {
  ASSERT_EQ(seat_.take(true, &why_), Seat::Taken::kYes);
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kRuntime));
  EXPECT_TRUE(g_cupti.functions.empty());
}

TEST_F(SeatTest, AStrangersSeatIsLeftAlone) {
  g_cupti.seat_taken = true;
  EXPECT_EQ(seat_.take(false, &why_), Seat::Taken::kRefused);
  EXPECT_EQ(why_, "another client of CUPTI");
  EXPECT_FALSE(seat_.is_ours());
  EXPECT_TRUE(g_cupti.calls.empty());
}

TEST_F(SeatTest, AJobThatStaysSubscribedAndRecordsNothingIsNotInTheWay) {
  g_cupti.seat_taken = true;
  seat_.job_subscribed();
  ASSERT_EQ(seat_.take(false, &why_), Seat::Taken::kYes);
  EXPECT_FALSE(called("callback")) << "graphs' nodes are told to the subscriber alone";
  seat_.leave();
  EXPECT_FALSE(called("unsubscribe")) << "that is the job's";
}

TEST_F(SeatTest, WhatFailsIsNamedAndEverythingTakenBack) {
  for (const char* failing : {"subscribe", "register", "enable 39", "enable 10"}) {
    g_cupti = {};
    g_cupti.failing = failing;
    EXPECT_EQ(seat_.take(false, &why_), Seat::Taken::kFailed) << failing;
    EXPECT_NE(why_.find("CUPTI_ERROR_INVALID_OPERATION"), std::string::npos) << why_;
    EXPECT_FALSE(seat_.is_ours());
    EXPECT_TRUE(g_cupti.kinds.empty());
    EXPECT_EQ(called("unsubscribe"), std::string(failing) != "subscribe") << failing;
  }
}

constexpr std::uint64_t kNow = 1'000'000'000'000, kSecond = 1'000'000'000;

TEST_F(SeatTest, TheJobHasTheSeatUntilItHasFetchedWhatItRecorded) {
  EXPECT_FALSE(seat_.job_has_it(kNow));
  seat_.job_begins(kNow);
  EXPECT_TRUE(seat_.job_has_it(kNow));
  seat_.job_enabled(cupti::kConcurrentKernel);
  seat_.job_enabled(cupti::kRuntime);
  seat_.job_flushed();
  EXPECT_TRUE(seat_.job_has_it(kNow + 100 * kSecond)) << "it records";
  seat_.job_disabled(cupti::kConcurrentKernel);
  EXPECT_TRUE(seat_.job_has_it(kNow + 100 * kSecond));
  seat_.job_disabled(cupti::kRuntime);
  EXPECT_TRUE(seat_.job_has_it(kNow + kSecond)) << "it is going to fetch what it recorded";
  seat_.job_flushed();
  EXPECT_FALSE(seat_.job_has_it(kNow + kSecond));
}

TEST_F(SeatTest, AJobThatFetchesNothingHasLetGo) {
  seat_.job_begins(kNow);
  EXPECT_TRUE(seat_.job_has_it(kNow + 9 * kSecond));
  EXPECT_FALSE(seat_.job_has_it(kNow + 11 * kSecond));
}

TEST_F(SeatTest, CuptiFinalizeEndsAll) {
  seat_.job_begins(kNow);
  seat_.job_subscribed();
  seat_.job_enabled(cupti::kMemcpy);
  seat_.job_finalized();
  EXPECT_FALSE(seat_.job_has_it(kNow));
  g_cupti.seat_taken = true;
  EXPECT_EQ(seat_.take(false, &why_), Seat::Taken::kRefused) << "whoever has it now is not the job's";
}

TEST_F(SeatTest, WhatWasDroppedIsAsked) {
  g_cupti.lost = 3;
  EXPECT_EQ(seat_.take_dropped(), 3u);
}

}  // namespace
}  // namespace castscope::gpu
