#include "agent/gpu/launches.h"

#include <gtest/gtest.h>

#include <vector>

namespace castscope::gpu {
namespace {

constexpr std::uint64_t kBegin = 1'000, kWithin = 1'500, kEnd = 2'000, kAfter = 2'500;

struct Placed {
  std::uint32_t correlation;
  std::uint64_t ticket;
  bool operator==(const Placed&) const = default;
};

class LaunchesTest : public testing::Test, protected Launches::Sink {
 protected:
  LaunchesTest() { launches_.stretch_begins(kBegin); }

  template <typename Record>
  void add(const Record& record) {
    launches_.add(reinterpret_cast<const cupti::Record&>(record));
  }
  void call(std::uint32_t correlation, std::uint64_t at = kWithin, std::uint32_t function = 211,
            std::uint32_t result = 0) {
    add(cupti::ApiRecord{cupti::kRuntime, function, at, at + 5, 1, 1, correlation, result});
  }
  void ticket(std::uint32_t correlation, std::uint64_t ticket, std::uint32_t kind = cupti::kKindOurs) {
    add(cupti::ExternalCorrelationRecord{cupti::kExternalCorrelation, kind, ticket, correlation});
  }
  void kernel(std::uint32_t correlation, std::uint64_t start = kWithin, std::uint64_t end = kWithin + 50) {
    cupti::KernelRecord record{};
    record.kind = cupti::kConcurrentKernel;
    record.correlation_id = correlation;
    record.start = start;
    record.end = end;
    record.grid[0] = 4, record.grid[1] = 2, record.grid[2] = 1;
    record.block[0] = 128, record.block[1] = record.block[2] = 1;
    record.name = "kernel";
    add(record);
  }
  void settle() { launches_.settle(*this); }

  bool place(const DeviceWork& work, std::uint64_t of, std::uint64_t, bool last_chance) override {
    if (of == kOpenTicket && !last_chance) return false;
    placed_.push_back({work.correlation, of});
    last_ = work;
    return true;
  }

  static constexpr std::uint64_t kOpenTicket = 99;
  Launches launches_;
  std::vector<Placed> placed_;
  DeviceWork last_;
};

TEST_F(LaunchesTest, AKernelIsOfTheTicketInFrontOfItsCall) {
  ticket(1, 7);
  call(1);
  EXPECT_EQ(launches_.outstanding(), 1u);
  kernel(1);
  EXPECT_EQ(launches_.outstanding(), 0u);
  settle();
  EXPECT_EQ(placed_, (std::vector<Placed>{{1, 7}}));
  EXPECT_EQ(last_.blocks, 8u);
  EXPECT_EQ(last_.threads, 128u);
}

TEST_F(LaunchesTest, RecordsMayComeInAnyOrderAndInDifferentRounds) {
  kernel(1);
  settle();
  EXPECT_TRUE(placed_.empty()) << "when it was called is not known";
  call(1);
  ticket(1, 7);
  settle();
  EXPECT_EQ(placed_, (std::vector<Placed>{{1, 7}}));
  EXPECT_EQ(launches_.outstanding(), 0u);
  settle();
  EXPECT_EQ(placed_.size(), 1u) << "once";
}

TEST_F(LaunchesTest, WhatWasLaunchedOutsideAnyOperatorHasNoTicket) {
  call(1);
  kernel(1);
  ticket(2, 8, 4);  // torch.profiler's ticket
  call(2);
  kernel(2);
  settle();
  EXPECT_EQ(placed_, (std::vector<Placed>{{1, 0}, {2, 0}}));
}

TEST_F(LaunchesTest, WhatWasCalledOutsideAStretchIsLeftOut) {
  launches_.stretch_ends(kEnd);
  call(1, kBegin - 1);
  kernel(1);
  call(2, kAfter);
  kernel(2);
  call(3);  // within the stretch; the device did it later
  kernel(3, kAfter, kAfter + 10);
  settle();
  EXPECT_EQ(placed_, (std::vector<Placed>{{3, 0}}));
  EXPECT_EQ(launches_.outstanding(), 0u);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 0u);
  EXPECT_EQ(launches_.orphans(), 0u);
}

TEST_F(LaunchesTest, WorkThatEndsBeforeItBeginsHasNoTimes) {
  call(1);
  kernel(1, kBegin + 100, kBegin + 50);
  settle();
  EXPECT_TRUE(placed_.empty());
  EXPECT_EQ(launches_.outstanding(), 0u) << "it came";
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 1u);
}

// As it happens after the job has set CUPTI's clock again.
TEST_F(LaunchesTest, TimesOfAnotherClockAreNone) {
  constexpr std::uint64_t kOther = 1'795'000'000'000'000'000;
  call(1);
  kernel(1, kOther, kOther + 50);
  settle();
  EXPECT_TRUE(placed_.empty());
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 1u);
}

TEST_F(LaunchesTest, NothingIsAwaitedOfACallThatFailed) {
  call(1, kWithin, 211, 700);
  EXPECT_EQ(launches_.outstanding(), 0u);
  // The call of the driver within the runtime's may come first.
  add(cupti::ApiRecord{cupti::kDriver, 307, kWithin, kWithin + 5, 1, 1, 2, 0});
  EXPECT_EQ(launches_.outstanding(), 1u);
  call(2, kWithin, 211, 700);
  EXPECT_EQ(launches_.outstanding(), 0u);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 0u);
}

TEST_F(LaunchesTest, CopiesBetweenDevicesAreCopies) {
  cupti::PeerMemcpyRecord record{};
  record.kind = cupti::kPeerMemcpy;
  record.bytes = 4096;
  record.start = kWithin, record.end = kWithin + 7;
  record.device = 1;
  record.direction = 10;
  record.correlation_id = 1;
  call(1, kWithin, 161);
  add(record);
  settle();
  ASSERT_EQ(placed_.size(), 1u);
  EXPECT_EQ(last_.kind, cupti::kMemcpy);
  EXPECT_EQ(last_.bytes, 4096u);
  EXPECT_EQ(last_.direction, 10);
}

TEST_F(LaunchesTest, AnEndThatIsSaidLaterCounts) {
  call(1, kAfter);
  EXPECT_EQ(launches_.outstanding(), 1u);
  launches_.stretch_ends(kEnd);
  settle();
  EXPECT_EQ(launches_.outstanding(), 0u) << "nobody waits for it";
  kernel(1);
  settle();
  EXPECT_TRUE(placed_.empty());
}

TEST_F(LaunchesTest, OneCallMayHaveManyKernels) {
  ticket(1, 7);
  call(1, kWithin, 311);
  kernel(1);
  settle();
  kernel(1);
  kernel(1);
  settle();
  EXPECT_EQ(placed_, (std::vector<Placed>{{1, 7}, {1, 7}, {1, 7}}));
}

TEST_F(LaunchesTest, WhatIsNotKnownYetIsAskedAgainAndAtLastTaken) {
  ticket(1, kOpenTicket);
  call(1);
  kernel(1);
  settle();
  settle();
  EXPECT_TRUE(placed_.empty());
  launches_.finish(*this);
  EXPECT_EQ(placed_, (std::vector<Placed>{{1, kOpenTicket}}));
}

TEST_F(LaunchesTest, WhatNeverComesIsCountedOnce) {
  call(1);
  call(2);
  kernel(2);
  call(3);
  kernel(3, 0, 0);  // handed out while the device was still at work on it
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 2u);
  EXPECT_EQ(launches_.outstanding(), 0u);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 2u);
}

TEST_F(LaunchesTest, AfterManyRoundsNobodyWaitsAnyMore) {
  call(1);
  for (int round = 0; round < 299; ++round) settle();
  EXPECT_EQ(launches_.outstanding(), 1u);
  settle();
  EXPECT_EQ(launches_.outstanding(), 0u);
  EXPECT_EQ(launches_.never_came(), 1u);
}

TEST_F(LaunchesTest, LaunchesIntoAGraphAreNotMissed) {
  call(1, kWithin, 315);  // cudaStreamBeginCapture
  call(2, kWithin + 20);
  call(3, kWithin + 40, 319);
  call(4, kWithin + 60);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 1u);
}

TEST_F(LaunchesTest, CapturesOfSeveralThreadsLastAsLongAsAllOfThem) {
  call(1, kWithin, 315);       // one thread's cudaStreamBeginCapture
  call(2, kWithin + 10, 315);  // another thread's
  call(3, kWithin + 20, 319);  // cudaStreamEndCapture of either thread
  call(4, kWithin + 30);
  call(5, kWithin + 40, 319);
  call(6, kWithin + 60);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 1u);
}

TEST_F(LaunchesTest, ACaptureThatFailedBeganNothing) {
  call(1, kWithin, 315, 900);
  call(2, kWithin + 20);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 1u);
}

TEST_F(LaunchesTest, WorkOfWhichNoCallIsKnownIsAnOrphan) {
  kernel(1);
  settle();
  launches_.finish(*this);
  EXPECT_TRUE(placed_.empty());
  EXPECT_EQ(launches_.orphans(), 1u);
}

TEST_F(LaunchesTest, ACallIsNotWaitedForForEver) {
  kernel(1);
  for (int round = 0; round < 63; ++round) settle();
  EXPECT_EQ(launches_.orphans(), 0u);
  settle();
  EXPECT_EQ(launches_.orphans(), 1u);
  launches_.finish(*this);
  EXPECT_EQ(launches_.orphans(), 1u) << "it is counted once";
}

TEST_F(LaunchesTest, WhatRanAfterTheLastStretchIsNone) {
  launches_.stretch_ends(kEnd);
  kernel(1, kAfter, kAfter + 10);
  launches_.finish(*this);
  EXPECT_EQ(launches_.orphans(), 0u);
}

TEST_F(LaunchesTest, NothingIsAwaitedOfFunctionsThatLaunchNothing) {
  call(1, kWithin, 20);  // cudaMalloc
  EXPECT_EQ(launches_.outstanding(), 0u);
  launches_.finish(*this);
  EXPECT_EQ(launches_.never_came(), 0u);
}

TEST_F(LaunchesTest, TheDriversFunctionWithinTheRuntimesIsTheSameCall) {
  ticket(1, 7);
  add(cupti::ApiRecord{cupti::kDriver, 307, kWithin + 2, kWithin + 4, 1, 1, 1, 0});
  call(1);
  kernel(1);
  settle();
  EXPECT_EQ(placed_, (std::vector<Placed>{{1, 7}}));
  EXPECT_EQ(launches_.outstanding(), 0u);
}

TEST_F(LaunchesTest, CopiesAndSetsHaveBytes) {
  cupti::MemcpyRecord copy{};
  copy.kind = cupti::kMemcpy;
  copy.direction = 8;
  copy.bytes = 4096;
  copy.start = kWithin, copy.end = kWithin + 1;
  copy.correlation_id = 1;
  call(1);
  add(copy);
  settle();
  EXPECT_EQ(last_.bytes, 4096u);
  EXPECT_EQ(last_.direction, 8);
  EXPECT_EQ(last_.kind, cupti::kMemcpy);
}

}  // namespace
}  // namespace castscope::gpu
