#include "proto/batch_checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace castscope::wire {
namespace {

v1::Batch some_batch() {
  v1::Batch batch;
  batch.set_sequence(7);
  batch.set_process_key("host/1/2/0");
  batch.mutable_process_begin()->set_host("host");
  batch.mutable_process_begin()->set_pid(1);
  batch.set_definitions("packed definitions");
  v1::Events& events = *batch.add_event_blocks();
  events.set_lane(1), events.set_event_count(3), events.set_packed_events("packed events");
  batch.mutable_counters()->add_lane(1), batch.mutable_counters()->add_site(2);
  batch.mutable_counters()->add_casts(12'000), batch.mutable_counters()->add_cpu_ns(1 << 20);
  batch.add_lanes()->set_events_published(3);
  batch.mutable_gauges()->set_present_step(5);
  batch.mutable_process_end()->set_exit_status(-1);
  batch.set_flush(true);
  batch.set_checksum(checksum_of(batch));
  return batch;
}

// Fields that no reader knows do no harm, and neither does a batch that lost its checksum and nothing else.
std::string what_it_holds(v1::Batch batch) {
  batch.clear_checksum();
  batch.DiscardUnknownFields();
  return batch.SerializeAsString();
}

TEST(BatchChecksumTest, EveryBitThatIsAnotherOneIsNoticed) {
  const v1::Batch whole = some_batch();
  ASSERT_TRUE(is_intact(whole));
  const std::string text = whole.SerializeAsString();
  int noticed = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string changed = text;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    v1::Batch batch;
    if (!batch.ParseFromString(changed)) continue;  // gRPC ends the stream
    const bool same = what_it_holds(batch) == what_it_holds(whole);
    const bool without = batch.checksum() == 0;
    EXPECT_TRUE(same || without || !is_intact(batch)) << "bit " << bit;
    EXPECT_TRUE(!without || same) << "one bit cannot take the checksum away and change something else: bit " << bit;
    noticed += !is_intact(batch);
  }
  EXPECT_GT(noticed, 500);
}

TEST(BatchChecksumTest, ABatchNeedNotHaveOne) {
  v1::Batch batch = some_batch();
  batch.clear_checksum();
  EXPECT_TRUE(is_intact(batch));
}

}  // namespace
}  // namespace castscope::wire
