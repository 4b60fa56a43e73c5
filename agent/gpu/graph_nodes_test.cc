#include "agent/gpu/graph_nodes.h"

#include <gtest/gtest.h>

#include <memory>

namespace castscope::gpu {
namespace {

class GraphNodesTest : public testing::Test {
 protected:
  std::unique_ptr<WorkBook> book_{new WorkBook};
  GraphNodes nodes_{*book_};
  Purpose purpose_;
};

TEST_F(GraphNodesTest, ANodeIsForWhatItWasCapturedFor) {
  const std::uint64_t ticket = book_->open(0);
  nodes_.created(100, ticket);
  EXPECT_FALSE(nodes_.find(100, &purpose_)) << "its operator is not over";
  book_->settle(ticket, {.use = 7, .op = 3});
  EXPECT_TRUE(nodes_.find(100, &purpose_));
  EXPECT_EQ(purpose_.use, 7u);
}

TEST_F(GraphNodesTest, CopiesOfCopiesAreTheNodes) {
  const std::uint64_t ticket = book_->open(0);
  nodes_.created(100, ticket);
  nodes_.cloned(200, 100);
  nodes_.cloned(300, 200);
  book_->settle(ticket, {.use = 7});
  EXPECT_TRUE(nodes_.find(300, &purpose_));
  EXPECT_EQ(purpose_.use, 7u);
}

TEST_F(GraphNodesTest, NodesThatNobodySawMadeAreUnknown) {
  nodes_.cloned(200, 100);
  nodes_.created(101, 0);
  EXPECT_FALSE(nodes_.find(100, &purpose_));
  EXPECT_FALSE(nodes_.find(101, &purpose_));
  EXPECT_FALSE(nodes_.find(200, &purpose_));
}

TEST_F(GraphNodesTest, WhatIsSettledOutlastsTheBook) {
  const std::uint64_t ticket = book_->open(0);
  nodes_.created(100, ticket);
  book_->settle(ticket, {.use = 7});
  nodes_.settle();
  for (std::size_t i = 0; i <= WorkBook::kTickets; ++i) book_->open(0);
  EXPECT_TRUE(nodes_.find(100, &purpose_));
  EXPECT_EQ(purpose_.use, 7u);
}

}  // namespace
}  // namespace castscope::gpu
