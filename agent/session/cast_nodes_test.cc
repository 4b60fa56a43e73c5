#include "agent/session/cast_nodes.h"

#include <gtest/gtest.h>

namespace castscope::agent {
namespace {

int g_nodes[2];

TEST(CastNodes, ANodeLeadsToTheCastThatMadeIt) {
  CastNodes nodes;
  const NodeIdentity one{&g_nodes[0], 17, 1}, other{&g_nodes[1], 18, 1};
  nodes.remember(one, 5);
  nodes.remember(other, 6);
  EXPECT_EQ(nodes.site_of(one), 5u);
  EXPECT_EQ(nodes.site_of(other), 6u);
}

TEST(CastNodes, ANewNodeAtAnOldAddressIsAnotherNode) {
  CastNodes nodes;
  nodes.remember({&g_nodes[0], 17, 1}, 5);
  EXPECT_EQ(nodes.site_of({&g_nodes[0], 18, 1}), 0u);
  EXPECT_EQ(nodes.site_of({&g_nodes[0], 17 + CastNodes::kPlaces, 1}), 0u);  // in the same place
  EXPECT_EQ(nodes.site_of({&g_nodes[1], 17, 1}), 0u);
  EXPECT_EQ(nodes.site_of({&g_nodes[0], 17, 2}), 0u);
}

TEST(CastNodes, ThreadsThatNumberAlikeDoNotPushEachOtherOut) {
  CastNodes nodes;
  for (std::uint64_t thread = 1; thread <= 4; ++thread)
    for (std::uint64_t sequence = 0; sequence < 1000; ++sequence)
      nodes.remember({&g_nodes[0], sequence, thread}, static_cast<std::uint32_t>(thread * 1000 + sequence));
  for (std::uint64_t thread = 1; thread <= 4; ++thread)
    for (std::uint64_t sequence = 0; sequence < 1000; ++sequence)
      ASSERT_EQ(nodes.site_of({&g_nodes[0], sequence, thread}), thread * 1000 + sequence);
}

TEST(CastNodes, ANodeIsForgottenAfterAsManyMoreAsThereArePlaces) {
  CastNodes nodes;
  nodes.remember({&g_nodes[0], 0, 1}, 5);
  for (std::uint64_t sequence = 1; sequence < CastNodes::kPlaces; ++sequence)
    nodes.remember({&g_nodes[0], sequence, 1}, 6);
  EXPECT_EQ(nodes.site_of({&g_nodes[0], 0, 1}), 5u);
  nodes.remember({&g_nodes[0], CastNodes::kPlaces, 1}, 7);
  EXPECT_EQ(nodes.site_of({&g_nodes[0], 0, 1}), 0u);
}

TEST(CastNodes, NoNodeIsNoCasts) {
  CastNodes nodes;
  nodes.remember({}, 5);
  EXPECT_EQ(nodes.site_of({}), 0u);
  EXPECT_EQ(nodes.site_of({&g_nodes[0], 0, 0}), 0u);
}

}  // namespace
}  // namespace castscope::agent
