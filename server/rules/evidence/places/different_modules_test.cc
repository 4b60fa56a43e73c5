#include "server/rules/evidence/places/different_modules.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace castscope::rules {
namespace {

// The modules are (root's class, its number, path).
std::size_t counted(const std::vector<std::tuple<std::string, std::uint32_t, std::string>>& modules) {
  store::RunData data;
  std::set<store::ModuleId> ids;
  data.modules.resize(modules.size() + 1);
  for (std::uint32_t i = 1; i <= modules.size(); ++i) {
    const auto& [type, number, path] = modules[i - 1];
    data.modules[store::ModuleId(i)] = {.path = path, .type = "Linear", .root_type = type, .root_number = number};
    ids.insert(store::ModuleId(i));
  }
  return different_modules(data, ids);
}

TEST(DifferentModulesTest, AModelAndItsAverage) {
  EXPECT_EQ(
      counted(
          {{"Net", 1, "blocks.0.fc"}, {"Net", 1, "blocks.1.fc"}, {"Net", 2, "blocks.0.fc"}, {"Net", 2, "blocks.1.fc"}}),
      2u);
}

TEST(DifferentModulesTest, WhatWrapsAModel) {
  for (const char* wrapped : {"module.", "_orig_mod.", "module._orig_mod.", "_fsdp_wrapped_module."})
    EXPECT_EQ(counted({{"Net", 1, "fc"}, {"Wrapper", 1, std::string(wrapped) + "fc"}}), 1u) << wrapped;
  EXPECT_EQ(
      counted({{"Net", 1, "0.fc"}, {"Net", 1, "1.fc"}, {"Ema", 1, "ema_model.0.fc"}, {"Ema", 1, "ema_model.1.fc"}}),
      2u);
}

TEST(DifferentModulesTest, AnAverageThatIsUsedInPart) {
  EXPECT_EQ(counted({{"Net", 1, "blocks.0.fc"}, {"Net", 1, "blocks.1.fc"}, {"Net", 2, "blocks.1.fc"}}), 2u);
}

TEST(DifferentModulesTest, OtherModules) {
  EXPECT_EQ(counted({{"Net", 1, "encoder.fc"}, {"Net", 1, "decoder.fc"}}), 2u) << "of one model";
  EXPECT_EQ(counted({{"Head", 1, "fc"}, {"Net", 1, "encoder.fc"}}), 2u) << "nobody can tell";
  EXPECT_EQ(counted({{"Net", 1, "0.up"}, {"Net", 1, "1.up"}, {"Net", 2, "0.down"}}), 3u);
}

}  // namespace
}  // namespace castscope::rules
