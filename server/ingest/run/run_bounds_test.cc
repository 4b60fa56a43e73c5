// A run keeps a bounded number of relays and of rejections in memory, however many its senders cause.
#include "absl/strings/str_cat.h"
#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using Batch = BatchBuilder;
using RunBoundsTest = RunTableTest;

TEST_F(RunBoundsTest, ARunHasSoManyRelaysAndNoMore) {
  for (int i = 0; i < 65'536; ++i)
    sink_->earlier_life_of_run.relays.push_back({.relay = absl::StrCat("r", i), .acknowledged = 1});
  EXPECT_EQ(attach("r65535", 1).durable, 1u);
  ingest::Run::Reply reply;
  const absl::Status refused = attached("one more", 0, &reply);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(refused.message(), HasSubstr("has 65536 relays already"));
  EXPECT_EQ(apply("r65535", Batch().begin().sequence(2).flush()).durable, 2u) << "who is in it goes on";
}

TEST_F(RunBoundsTest, ARelayThatComesBackIsToldAThousandRejections) {
  attach("a");
  for (int i = 1; i <= 1100; ++i) apply("a", Batch(absl::StrCat("unknown", i)).sequence(static_cast<unsigned>(i)));
  const ingest::Run::Reply again = attach("a", 0);
  EXPECT_THAT(again.rejections, SizeIs(1000));
  EXPECT_EQ(again.rejections.front().process_key(), "unknown1");
  EXPECT_THAT(sink_->missing, SizeIs(1100)) << "the file says each";
}

}  // namespace
}  // namespace castscope::ingest
