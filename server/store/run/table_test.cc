#include "server/store/run/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "absl/container/flat_hash_map.h"

namespace castscope::store {
namespace {

using testing::ElementsAre;

constexpr SiteId kFirst(1), kSecond(2), kThird(3);

Table<std::string, Site> names() { return {"conv", "linear"}; }

TEST(IdTest, IsNoneUntilItIsMadeOfANumber) {
  EXPECT_EQ(SiteId(), 0u);
  EXPECT_EQ(SiteId(7), 7u);
  EXPECT_EQ(SiteId(7).number(), 7u);
}

TEST(IdTest, IsOrderedAndHashedByItsNumber) {
  EXPECT_LT(kFirst, kSecond);
  EXPECT_EQ(kSecond, SiteId(2));
  EXPECT_NE(kSecond, kThird);
  const absl::flat_hash_map<SiteId, int> by_hash = {{kFirst, 1}, {kSecond, 2}};
  EXPECT_EQ(by_hash.at(kSecond), 2);
  const std::map<SiteId, int> by_order = {{kSecond, 2}, {kFirst, 1}};
  EXPECT_EQ(by_order.begin()->second, 1);
}

TEST(IdTest, ReadsAsANumberInTextAndJson) {
  EXPECT_EQ(std::to_string(kThird), "3");
  EXPECT_EQ(nlohmann::json({{"site", kThird}}).dump(), R"({"site":3})");
}

// A loop over ids costs what one over numbers does.
TEST(IdTest, IsAPlainInteger) {
  static_assert(std::is_trivially_copyable_v<SiteId> && std::is_standard_layout_v<SiteId>);
  static_assert(sizeof(SiteId) == sizeof(std::uint32_t));
}

TEST(IdTest, OfOneKindIsNoneOfAnother) {
  static_assert(!std::is_convertible_v<RegionId, SiteId> && !std::is_constructible_v<SiteId, RegionId>);
  static_assert(!std::is_convertible_v<std::uint32_t, SiteId> && std::is_constructible_v<SiteId, std::uint32_t>);
}

TEST(TableTest, NumbersFromOne) {
  Table<std::string, Site> table;
  EXPECT_EQ(table.last(), 0u);
  EXPECT_EQ(table.push_back("conv"), kFirst);
  table.emplace_back("linear");
  EXPECT_EQ(table.last(), kSecond);
  EXPECT_EQ(table[kFirst], "conv");
  EXPECT_EQ(table[kSecond], "linear");
  EXPECT_THAT(table, ElementsAre("conv", "linear"));
}

TEST(TableTest, FindsNothingForNoneAndForWhatItDoesNotHave) {
  auto table = names();
  EXPECT_EQ(table.find({}), nullptr);
  EXPECT_EQ(table.find(kThird), nullptr);
  EXPECT_FALSE(table.contains({}) || table.contains(kThird));
  *table.find(kSecond) = "matmul";
  EXPECT_EQ(table[kSecond], "matmul");
}

TEST(TableTest, ANumberOfAFileMayBeAny) {
  auto table = names();
  EXPECT_EQ(table.find_number(0), nullptr);
  EXPECT_EQ(*table.find_number(1), "conv");
  EXPECT_EQ(table.find_number((std::uint64_t{1} << 32) + 1), nullptr) << "not the first one";
}

TEST(TableTest, GivesItsIdsInOrder) {
  std::string all;
  for (const SiteId id : names().ids()) all += std::to_string(id);
  EXPECT_EQ(all, "12");
}

TEST(TableTest, HoldsFlagsToo) {
  Table<bool, Site> marked(2);
  marked[kSecond] = true;
  EXPECT_THAT(marked, ElementsAre(false, true));
}

}  // namespace
}  // namespace castscope::store
