#include "agent/gpu/cupti/seat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace castscope::gpu {
namespace {

using cupti::Result;

// A CUPTI whose seat another client can take, and in which anything may fail.
struct Cupti {
  bool seat_taken = false;
  std::string failing;  // the function that fails
  std::vector<std::string> calls;
  std::set<int> kinds;
  std::set<std::uint32_t> switched_off, singly;  // functions of the runtime: while their kind is on, and while not
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
    if (kind == cupti::kRuntime) g_cupti.switched_off.clear();
    return note("enable " + std::to_string(kind));
  };
  api.disable = [](cupti::ActivityKind kind) {
    g_cupti.kinds.erase(kind);
    return note("disable");
  };
  api.enable_runtime = [](std::uint32_t id, std::uint8_t on) {
    if (g_cupti.kinds.contains(cupti::kRuntime))
      on == 0 ? (void)g_cupti.switched_off.insert(id) : (void)g_cupti.switched_off.erase(id);
    else
      on != 0 ? (void)g_cupti.singly.insert(id) : (void)g_cupti.singly.erase(id);
    return cupti::kSuccess;
  };
  api.enable_driver = [](std::uint32_t, std::uint8_t) { return cupti::kSuccess; };
  api.flush_all = [](std::uint32_t flags) {
    return note("flush " + std::to_string(flags) + " of " + std::to_string(g_cupti.kinds.size()) + " kinds");
  };
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
  using Functions = Seat::Functions;
  const cupti::Api api_ = fake_api();
  cupti::Api older_ = fake_api();
  JobClient job_;
  Seat seat_{api_, {nullptr, nullptr, nullptr}, job_, Functions::kChosen};
  std::string why_;
};

TEST_F(SeatTest, AFreeSeatIsTakenAndLeftAsItWas) {
  ASSERT_EQ(seat_.take(&why_), Seat::Taken::kYes) << why_;
  EXPECT_TRUE(seat_.is_ours());
  EXPECT_EQ(g_cupti.kinds, (std::set<int>{cupti::kMemcpy, cupti::kPeerMemcpy, cupti::kMemset, cupti::kConcurrentKernel,
                                          cupti::kExternalCorrelation, cupti::kRuntime, cupti::kDriver}));
  EXPECT_FALSE(g_cupti.switched_off.contains(211)) << "cudaLaunchKernel";
  EXPECT_TRUE(g_cupti.switched_off.contains(17)) << "cudaGetDevice";
  EXPECT_EQ(g_cupti.calls.back(), "callback");
  seat_.leave();
  EXPECT_FALSE(seat_.is_ours());
  EXPECT_TRUE(g_cupti.kinds.empty());
  ASSERT_GE(g_cupti.calls.size(), 2u);
  EXPECT_EQ(g_cupti.calls.end()[-2], "flush 1 of 0 kinds") << "no buffer of ours stays there";
  EXPECT_EQ(g_cupti.calls.back(), "unsubscribe");
}

TEST_F(SeatTest, SingleFunctionsAreAllThatIsSwitchedWhereThatWorks) {
  Seat seat(api_, {nullptr, nullptr, nullptr}, job_, Functions::kSingly);
  ASSERT_EQ(seat.take(&why_), Seat::Taken::kYes);
  EXPECT_FALSE(g_cupti.kinds.contains(cupti::kRuntime));
  EXPECT_TRUE(g_cupti.singly.contains(211)) << "cudaLaunchKernel";
  EXPECT_FALSE(g_cupti.singly.contains(17)) << "cudaGetDevice";
  seat.leave();
  EXPECT_TRUE(g_cupti.singly.empty());
  EXPECT_FALSE(called("enable 5"));
}

TEST_F(SeatTest, AfterTheJobsOwnClientSingleFunctionsDoNotWork) {
  Seat seat(api_, {nullptr, nullptr, nullptr}, job_, Functions::kSingly);
  job_.enabled(cupti::kRuntime);
  job_.disabled(cupti::kRuntime);
  ASSERT_EQ(seat.take(&why_), Seat::Taken::kYes);
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kRuntime));
  EXPECT_TRUE(g_cupti.switched_off.contains(17)) << "cudaGetDevice";
}

TEST_F(SeatTest, MoreIsRecordedStepByStepAndAtOnce) {
  Seat seat(api_, {nullptr, nullptr, nullptr}, job_, Functions::kSingly);
  ASSERT_EQ(seat.take(&why_), Seat::Taken::kYes);
  seat.record_more(true);
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kRuntime));
  EXPECT_TRUE(g_cupti.switched_off.contains(17)) << "cudaGetDevice";
  seat.record_more(true);
  EXPECT_TRUE(g_cupti.switched_off.empty());
  seat.leave();
  EXPECT_TRUE(g_cupti.kinds.empty());
}

TEST_F(SeatTest, MoreIsRecordedFromTheNextTimeOnWhileNothingMayBeAskedOfCupti) {
  ASSERT_EQ(seat_.take(&why_), Seat::Taken::kYes);
  seat_.record_more(false);
  EXPECT_FALSE(g_cupti.switched_off.empty());
  seat_.leave();
  ASSERT_EQ(seat_.take(&why_), Seat::Taken::kYes);
  EXPECT_TRUE(g_cupti.switched_off.empty());
}

TEST_F(SeatTest, AllFunctionsAreRecordedWhereTheyCannotBeChosen) {
  older_.enable_runtime = nullptr;
  Seat seat(older_, {nullptr, nullptr, nullptr}, job_, Functions::kSingly);
  ASSERT_EQ(seat.take(&why_), Seat::Taken::kYes);
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kRuntime));
  EXPECT_TRUE(g_cupti.kinds.contains(cupti::kDriver));
  seat.leave();
  EXPECT_TRUE(g_cupti.kinds.empty());
}

TEST_F(SeatTest, AStrangersSeatIsLeftAlone) {
  g_cupti.seat_taken = true;
  EXPECT_EQ(seat_.take(&why_), Seat::Taken::kRefused);
  EXPECT_EQ(why_, "another client of CUPTI");
  EXPECT_FALSE(seat_.is_ours());
  EXPECT_TRUE(g_cupti.calls.empty());
}

TEST_F(SeatTest, AJobThatStaysSubscribedAndRecordsNothingIsNotInTheWay) {
  g_cupti.seat_taken = true;
  job_.subscribed();
  ASSERT_EQ(seat_.take(&why_), Seat::Taken::kYes);
  EXPECT_FALSE(called("callback")) << "graphs' nodes are told to the subscriber alone";
  seat_.leave();
  EXPECT_FALSE(called("unsubscribe")) << "that is the job's";
}

TEST_F(SeatTest, WhatFailsIsNamedAndEverythingTakenBack) {
  for (const char* failing : {"subscribe", "register", "enable 39", "enable 10"}) {
    g_cupti = {};
    g_cupti.failing = failing;
    EXPECT_EQ(seat_.take(&why_), Seat::Taken::kFailed) << failing;
    EXPECT_NE(why_.find("CUPTI_ERROR_INVALID_OPERATION"), std::string::npos) << why_;
    EXPECT_FALSE(seat_.is_ours());
    EXPECT_TRUE(g_cupti.kinds.empty());
    EXPECT_EQ(called("unsubscribe"), std::string(failing) != "subscribe") << failing;
  }
}

TEST_F(SeatTest, WhenCuptiIsGoneItIsNotAskedForAnything) {
  ASSERT_EQ(seat_.take(&why_), Seat::Taken::kYes);
  g_cupti.calls.clear();
  seat_.vanishes();
  seat_.flush(true);
  EXPECT_EQ(seat_.take_dropped(), 0u);
  seat_.leave();
  EXPECT_FALSE(seat_.is_ours());
  EXPECT_TRUE(g_cupti.calls.empty());
  ASSERT_EQ(seat_.take(&why_), Seat::Taken::kYes) << "it may be begun anew";
  EXPECT_FALSE(seat_.is_gone());
}

TEST_F(SeatTest, WhatWasDroppedIsAsked) {
  g_cupti.lost = 3;
  EXPECT_EQ(seat_.take_dropped(), 3u);
}

}  // namespace
}  // namespace castscope::gpu
