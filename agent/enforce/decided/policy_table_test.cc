#include "agent/enforce/decided/policy_table.h"

#include <gmock/gmock.h>

namespace castscope::enforce {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string with_hash(const std::string& lines) {
  return std::string(kPolicyFormat) + "\nhash\t" + hash_of(lines) + "\n" + lines;
}

std::string trouble(const std::string& text) {
  std::string error;
  EXPECT_FALSE(read_policy_table(text, &error).has_value()) << text;
  return error;
}

const char* const kLines =
    "name\tmine.json\ndevice\tcpu\ncache\tfrozen\t1\ncache\tkeep\tstep\ncache\tmax_bytes\t4096\n"
    "function\ta.b:c\thalf\nmodule\thead\\\\..*\tfp32\nmodule\tx\ttable\t1\nknown\taten::gelu\t\n"
    "table\t0\ndtype\tambient\nop\tfp32\taten::sum\t\nop\tpromote\taten::sum\tdim_IntList\n"
    "op\tbanned\taten::bmm\t\tno\\tway\\nat all\nnever\ttv::roi\t\trois\tboxes\n"
    "table\t1\ndtype\tfloat16\nop\tlower_precision_fp\taten::mm\tdefault\n";

TEST(PolicyTableTest, EveryLineIsRead) {
  std::string error;
  const auto table = read_policy_table(with_hash(kLines), &error);
  ASSERT_TRUE(table.has_value()) << error;
  EXPECT_EQ(table->name, "mine.json");
  EXPECT_EQ(table->hash, hash_of(kLines));
  EXPECT_EQ(table->cache_frozen, true);
  EXPECT_EQ(table->cache_keep, Keep::kStep);
  EXPECT_EQ(table->cache_max_bytes, 4096u);
  EXPECT_EQ(table->cache_views, std::nullopt);
  EXPECT_THAT(table->functions, ElementsAre(std::pair<std::string, std::string>("a.b:c", "half")));
  ASSERT_EQ(table->modules.size(), 2u);
  EXPECT_EQ(table->modules[0].pattern, "head\\..*");
  EXPECT_EQ(table->modules[1].table, 1u);
  const OperatorTable& own = table->tables[0];
  EXPECT_EQ(own.find("aten::sum", "default")->policy, CastPolicy::kFp32);
  EXPECT_EQ(own.find("aten::sum", "dim_IntList")->policy, CastPolicy::kPromote);
  EXPECT_EQ(own.find("aten::bmm", "default")->message, "no\tway\nat all");
  EXPECT_EQ(own.find("aten::mm", "default"), nullptr);
  EXPECT_THAT(*own.never("tv::roi", "default"), ElementsAre("rois", "boxes"));
  EXPECT_EQ(table->tables[1].dtype, LowerDtype::kFloat16);
}

TEST(PolicyTableTest, OlderFormatsAreRead) {
  std::string error;
  for (const std::string_view format : {kFirstPolicyFormat, kSecondPolicyFormat}) {
    const std::string text = std::string(format) + "\nhash\t" + hash_of(kLines) + "\n" + kLines;
    EXPECT_TRUE(read_policy_table(text, &error).has_value()) << error;
  }
}

TEST(PolicyTableTest, TheDtypeOfRegionsThatNameNone) {
  std::string error;
  const auto table = read_policy_table(with_hash("device\tcpu\ndefault_dtype\tfloat16\ntable\t0\n"), &error);
  ASSERT_TRUE(table.has_value()) << error;
  EXPECT_EQ(table->default_dtype, LowerDtype::kFloat16);
  EXPECT_THAT(trouble(with_hash("device\tcpu\ndefault_dtype\tambient\ntable\t0\n")), HasSubstr("line 4"));
}

TEST(PolicyTableTest, WhatIsNotUnderstoodIsNoPolicy) {
  EXPECT_THAT(trouble(""), HasSubstr("another version"));
  EXPECT_THAT(trouble(with_hash(kLines) + "table\t2\n"), HasSubstr("damaged"));
  EXPECT_THAT(trouble(with_hash("device\tcpu\n")), HasSubstr("something is missing"));
  EXPECT_THAT(trouble(with_hash("device\tcpu\nmodule\ta\ttable\t7\ntable\t0\n")), HasSubstr("something is missing"));
  for (const char* line : {"colour\tred", "op\tfp32", "table\t1", "cache\tfrozen\t2", "cache\tkeep\tever", "module\ta",
                           "module\ta\tdouble", "module\t(\tfp32", "dtype\tfloat16", "cache\tmax_bytes\tlots"})
    EXPECT_THAT(trouble(with_hash(std::string("device\tcpu\n") + line + "\n")),
                HasSubstr(std::string("line 4: ") + line));
}

TEST(PolicyTableTest, CutAnywhereItIsRefused) {
  const std::string whole = with_hash(kLines);
  for (std::size_t n = 0; n < whole.size(); ++n) trouble(whole.substr(0, n));
}

}  // namespace
}  // namespace castscope::enforce
