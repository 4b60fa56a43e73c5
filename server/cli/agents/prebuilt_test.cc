#include "server/cli/agents/prebuilt.h"

#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

std::vector<PrebuiltAgent> two() {
  return {{"aa", "2.6.0", false, compressed("the first")},
          {"bb", "2.13.0", true, compressed(std::string(100'000, 'x'))}};
}

TEST(Prebuilt, AnArchiveGivesBackWhatWasPutIn) {
  const auto found = agents_in(archive_of(two(), "0123"), "0123");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].torch_key, "aa");
  EXPECT_EQ((*found)[0].torch_version, "2.6.0");
  EXPECT_FALSE((*found)[0].cxx11_abi);
  EXPECT_EQ(*decompressed((*found)[0].compressed), "the first");
  EXPECT_EQ(*decompressed((*found)[1].compressed), std::string(100'000, 'x'));
}

TEST(Prebuilt, AgentsOfOtherSourcesAreNone) {
  const auto found = agents_in(archive_of(two(), "0123"), "4567");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->empty());
}

TEST(Prebuilt, WhatIsCutShortIsDamaged) {
  const std::string archive = archive_of(two(), "0123");
  for (std::size_t size = 0; size < archive.size(); size++)
    EXPECT_FALSE(agents_in(archive.substr(0, size), "0123").ok()) << size;
  const std::string one = compressed("the first");
  for (std::size_t size = 0; size < one.size(); size++) EXPECT_FALSE(decompressed(one.substr(0, size)).ok()) << size;
}

TEST(Prebuilt, ThisProgramCarriesNone) {
  TorchInstall torch;
  torch.version = "2.13.0+cpu";
  EXPECT_TRUE(prebuilt_for(torch).empty());
}

TEST(Prebuilt, AReleaseIsTheVersionWithoutItsVariant) {
  EXPECT_EQ(release_of("2.13.0+cu130"), "2.13.0");
  EXPECT_EQ(release_of("2.14.1"), "2.14.1");
}

}  // namespace
}  // namespace castscope::cli
