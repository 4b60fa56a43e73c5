#include "server/graph/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace castscope::graph {
namespace {

constexpr Box kBox{.width = 100, .height = 40};

std::vector<Box> boxes(std::size_t n) { return std::vector<Box>(n, kBox); }

bool overlap(const Point& a, const Point& b) {
  return std::abs(a.x - b.x) < kBox.width && std::abs(a.y - b.y) < kBox.height;
}

void expect_apart(const Layout& layout) {
  for (std::size_t i = 0; i < layout.boxes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(layout.boxes[i], layout.boxes[j])) << i << " and " << j;
}

void expect_inside(const Layout& layout) {
  for (const Point& corner : layout.boxes) {
    EXPECT_GE(corner.x, -1e-6);
    EXPECT_GE(corner.y, -1e-6);
    EXPECT_LE(corner.x + kBox.width, layout.width + 1e-6);
    EXPECT_LE(corner.y + kBox.height, layout.height + 1e-6);
  }
}

TEST(LayoutTest, NothingIsNothing) {
  const Layout layout = lay_out({}, {});
  EXPECT_TRUE(layout.boxes.empty());
  EXPECT_EQ(layout.height, 0);
}

TEST(LayoutTest, AChainIsAStraightColumn) {
  const Layout layout = lay_out(boxes(5), {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_NEAR(layout.boxes[i].x, layout.boxes[0].x, 0.5);
    EXPECT_GT(layout.boxes[i].y, layout.boxes[i - 1].y + kBox.height);
  }
  expect_inside(layout);
}

TEST(LayoutTest, ValuesFlowDownwards) {
  const std::vector<Link> links = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}, {3, 4}, {1, 4}};
  const Layout layout = lay_out(boxes(5), links);
  for (std::size_t i = 0; i < links.size(); ++i) {
    EXPECT_LT(layout.boxes[links[i].from].y, layout.boxes[links[i].to].y);
    ASSERT_GE(layout.routes[i].size(), 2u);
    EXPECT_NEAR(layout.routes[i].front().y, layout.boxes[links[i].from].y + kBox.height, 1e-6);
    EXPECT_NEAR(layout.routes[i].back().y, layout.boxes[links[i].to].y, 1e-6);
  }
  expect_apart(layout);
  expect_inside(layout);
}

// A residual connection passes beside the boxes that it skips.
TEST(LayoutTest, ALineCrossesNoBox) {
  const std::vector<Link> links = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  const Layout layout = lay_out(boxes(4), links);
  for (const Point& point : layout.routes[3])
    for (const std::size_t box : {1, 2}) {
      const Point corner = layout.boxes[box];
      const bool beside = point.x < corner.x || point.x > corner.x + kBox.width;
      const bool above_or_below = point.y <= corner.y || point.y >= corner.y + kBox.height;
      EXPECT_TRUE(beside || above_or_below) << box;
    }
}

TEST(LayoutTest, LinesThatNeedNotCrossDoNot) {
  // The links are given crosswise: 0 → 3, 1 → 2.
  const Layout layout = lay_out(boxes(4), {{0, 3}, {1, 2}});
  EXPECT_EQ(layout.boxes[0].x < layout.boxes[1].x, layout.boxes[3].x < layout.boxes[2].x);
}

// A loop over time makes an upward link.
TEST(LayoutTest, AnUpwardLinkGoesUp) {
  const Layout layout = lay_out(boxes(3), {{0, 1}, {1, 2}, {2, 1}});
  EXPECT_GT(layout.routes[2].front().y, layout.routes[2].back().y);
  EXPECT_NEAR(layout.routes[2].front().y, layout.boxes[2].y, 1e-6);
}

// Positions that are added late, and masks, stand beside the boxes that take them, not at the top.
TEST(LayoutTest, WhatHasNothingAboveItStandsNearItsUse) {
  const Layout layout = lay_out(boxes(5), {{0, 1}, {1, 2}, {3, 4}, {2, 4}});
  EXPECT_NEAR(layout.boxes[3].y, layout.boxes[2].y, 1e-6);
}

TEST(LayoutTest, HundredsOfBoxesStayApart) {
  std::vector<Link> links;
  std::size_t seed = 12345;
  const auto next = [&](std::size_t below) {
    return (seed = seed * 6364136223846793005u + 1442695040888963407u) / 65536 % below;
  };
  for (std::size_t i = 1; i < 300; ++i)
    for (std::size_t n = 0; n <= next(3); ++n) links.push_back({i - 1 - next(std::min<std::size_t>(i, 8)), i});
  const Layout layout = lay_out(boxes(300), links);
  expect_apart(layout);
  expect_inside(layout);
}

}  // namespace
}  // namespace castscope::graph
