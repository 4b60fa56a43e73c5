// How long a run is worked for, and who waits meanwhile.
#include <chrono>
#include <future>

#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Batch = BatchBuilder;

class RunWorkTest : public RunTableTest {
 protected:
  // Looks after the runs in another thread, as the collector does, and says whether the look waited for nobody.
  bool look_ends() {
    look_ = std::async(std::launch::async, [this] { table_.close_abandoned(ingest::Run::Clock::now(), {}); });
    return look_.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }
  absl::Status apply_of(bool gone, const v1::Batch& batch) {
    ingest::Run::Reply reply;
    const auto held = table_.find_or_add({.id = "run"});  // as each stream does
    return held->apply(stream("a"), batch, &reply, [this, gone] { return ended_ = look_ends(), gone; });
  }

  bool ended_ = false;
  std::future<void> look_;  // ends after the run is free
};

TEST_F(RunWorkTest, TheLookAtAllRunsWaitsForNoneThatIsWorkedFor) {
  attach("a");
  run().detach(stream("a"), ingest::Run::Clock::now());
  EXPECT_TRUE(apply_of(false, Batch().begin().sequence(1)).ok());
  EXPECT_TRUE(ended_);
  EXPECT_THAT(closings_, IsEmpty()) << "it was not abandoned";
  EXPECT_TRUE(look_ends());
  EXPECT_THAT(closings_, SizeIs(1));
}

// The relay is asked for when the run is free, since others may have had it for long.
TEST_F(RunWorkTest, NothingIsTakenOfARelayThatHasGoneMeanwhile) {
  attach("a");
  EXPECT_TRUE(absl::IsUnavailable(apply_of(true, Batch().begin().sequence(1).flush())));
  EXPECT_TRUE(ended_);
  EXPECT_THAT(sink_->processes, IsEmpty());
  EXPECT_EQ(attach("a").durable, 0u);
  EXPECT_EQ(apply("a", Batch().begin().sequence(1).flush()).durable, 1u) << "it comes back";
}

}  // namespace
}  // namespace castscope::ingest
