// A run for which there is no memory for a while is met as one whose disk is full: it is given up and goes on, and the
// collector with all its other runs lives on.
#include <new>

#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Batch = BatchBuilder;

class SinkWithoutMemory : public RecordingSink {
 public:
  absl::Status counters(const std::string& key, std::span<const store::CounterRow> rows) override {
    if (out_of_memory) throw std::bad_alloc();
    return RecordingSink::counters(key, rows);
  }
  absl::Status commit() override {
    if (out_of_memory) throw std::bad_alloc();
    return RecordingSink::commit();
  }
  bool out_of_memory = false;
};

class RunMemoryTest : public RunTableTest {
 protected:
  RunMemoryTest() { sink_ = poor_; }
  void knows(std::uint64_t acknowledged) {
    sink_->earlier_life_of_run = {.relays = {{.relay = "a", .acknowledged = acknowledged}},
                                  .processes = {{.key = "host/1/1/0", .host = "host", .pid = 1}},
                                  .rejected = {}};
  }
  std::shared_ptr<SinkWithoutMemory> poor_ = std::make_shared<SinkWithoutMemory>();
};

TEST_F(RunMemoryTest, TheRelaySendsAgainWhatThereWasNoMemoryFor) {
  attach("a");
  apply("a", Batch().begin().site(1).sequence(1).flush());
  poor_->out_of_memory = true;
  knows(1);
  ingest::Run::Reply reply;
  const absl::Status status = run().apply(stream("a"), Batch().casts(1, 0, 3, 1).sequence(2).flush(), &reply);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_FALSE(reply.send);
  EXPECT_EQ(given_up_, 1);
  poor_->out_of_memory = false;
  EXPECT_EQ(attach("a", 1).durable, 1u);
  EXPECT_EQ(apply("a", Batch().begin().site(1).casts(1, 0, 3, 1).sequence(2).flush()).durable, 2u);
  goodbye("a", 3);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_THAT(sink_->missing, IsEmpty());
}

TEST_F(RunMemoryTest, ARunThatCannotBeClosedForWantOfMemoryIsClosedLater) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  poor_->out_of_memory = true;
  knows(0);
  const auto now = ingest::Run::Clock::now();
  run().detach(stream("a"), now);
  table_.close_abandoned(now + std::chrono::minutes(3), std::chrono::minutes(2));
  EXPECT_THAT(closings_, IsEmpty());
  poor_->out_of_memory = false;
  table_.close_abandoned(now + std::chrono::minutes(5), std::chrono::minutes(2));
  EXPECT_THAT(closings_, SizeIs(1));
}

TEST_F(RunMemoryTest, TheEndOfTheCollectorOutlivesItToo) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  poor_->out_of_memory = true;
  table_.shutdown();
  EXPECT_THAT(closings_, IsEmpty()) << "it is left open";
}

}  // namespace
}  // namespace castscope::ingest
