// Attributes of older agents arrive under their present names.
#include "server/ingest/validation/attribute_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/ingest/validation/validator_test.h"

namespace castscope::ingest {
namespace {

TEST(AttributeNames, OldOnesBecomeThePresentOnes) {
  EXPECT_EQ(present_name("argv", "python train.py"), "command_line");
  EXPECT_EQ(present_name("torch", "2.13.0"), "torch_version");
  EXPECT_EQ(present_name("python", "3.11.7"), "python_version");
  EXPECT_EQ(present_name("gpu_times", "CUPTI 13.0"), "gpu_timed_by");
  EXPECT_EQ(present_name("rule_met", "module head"), "policy_rule_met");
}

TEST(AttributeNames, GpuWasTheDeviceAndIsTheSetting) {
  EXPECT_EQ(present_name("gpu", "0 NVIDIA H100 80GB HBM3, compute capability 9.0"), "gpu_device");
  EXPECT_EQ(present_name("gpu_timing", "events"), "gpu");
  EXPECT_EQ(present_name("gpu", "events"), "gpu");
  EXPECT_EQ(present_name("gpu", ""), "gpu");
}

TEST(AttributeNames, OthersStay) {
  EXPECT_EQ(present_name("rank", "3"), "rank");
  EXPECT_EQ(present_name("torch_version", "2.13.0"), "torch_version");
  EXPECT_EQ(present_name("gpu_device", "0 NVIDIA H100"), "gpu_device");
}

using AttributeNamesTest = ValidatorTest;

TEST_F(AttributeNamesTest, TheCollectorKeepsWhatAnOlderRelaySendsUnderThePresentName) {
  Batch batch = Batch().begin();
  for (const auto& [name, value] :
       {std::pair{"torch", "2.13.0"}, {"gpu", "0 NVIDIA H100"}, {"torch_version", "2.13.0"}}) {
    v1::Attribute& attribute = *batch.batch().add_plain_definitions()->mutable_define_attribute();
    attribute.set_attribute(name);
    attribute.set_value(value);
  }
  accept(batch);
  EXPECT_THAT(sink_.only().attributes, testing::ElementsAre(testing::Pair("torch_version", "2.13.0"),
                                                            testing::Pair("gpu_device", "0 NVIDIA H100")));
}

}  // namespace
}  // namespace castscope::ingest
