#include "agent/gpu/cupti/job_client.h"

#include <gtest/gtest.h>

#include "agent/gpu/cupti/cupti_abi.h"

namespace castscope::gpu {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000'000, kSecond = 1'000'000'000;

TEST(JobClientTest, TheJobHasTheSeatUntilItHasFetchedWhatItRecorded) {
  JobClient job;
  EXPECT_FALSE(job.has_it(kNow));
  job.begins(kNow);
  EXPECT_TRUE(job.has_it(kNow));
  job.enabled(cupti::kConcurrentKernel);
  job.enabled(cupti::kRuntime);
  job.flushed();
  EXPECT_TRUE(job.has_it(kNow + 100 * kSecond)) << "it records";
  job.disabled(cupti::kConcurrentKernel);
  EXPECT_TRUE(job.has_it(kNow + 100 * kSecond));
  job.disabled(cupti::kRuntime);
  EXPECT_TRUE(job.has_it(kNow + kSecond)) << "it is going to fetch what it recorded";
  job.flushed();
  EXPECT_FALSE(job.has_it(kNow + kSecond));
}

TEST(JobClientTest, OneThatFetchesNothingHasLetGo) {
  JobClient job;
  job.begins(kNow);
  EXPECT_TRUE(job.has_it(kNow + 9 * kSecond));
  EXPECT_FALSE(job.has_it(kNow + 11 * kSecond));
}

TEST(JobClientTest, CuptiFinalizeEndsAll) {
  JobClient job;
  job.begins(kNow);
  job.subscribed();
  job.enabled(cupti::kMemcpy);
  job.finalized();
  EXPECT_FALSE(job.has_it(kNow));
  EXPECT_FALSE(job.is_subscribed());
}

// Kineto does so with TEARDOWN_CUPTI=1.
TEST(JobClientTest, OneThatSubscribesAfterAllIsAboutToTakeCuptiDown) {
  JobClient job;
  job.begins(kNow);
  job.subscribed();
  job.flushed();
  EXPECT_FALSE(job.has_it(kNow)) << "it has not recorded anything yet";
  job.enabled(cupti::kMemcpy);
  job.disabled(cupti::kMemcpy);
  job.begins(kNow);
  job.subscribed();
  job.flushed();
  EXPECT_TRUE(job.has_it(kNow + kSecond));
  job.unsubscribed();
  EXPECT_TRUE(job.has_it(kNow + kSecond));
  job.finalized();
  EXPECT_FALSE(job.has_it(kNow + kSecond));
}

TEST(JobClientTest, TheFirstNameStays) {
  static JobClient job;  // as in a process, where it has no end: it never lets go of the name
  EXPECT_FALSE(job.is_named());
  EXPECT_STREQ(job.name(), "the job");
  job.set_name("torch.profiler");
  job.set_name("another");
  EXPECT_TRUE(job.is_named());
  EXPECT_STREQ(job.name(), "torch.profiler");
}

}  // namespace
}  // namespace castscope::gpu
