#include "agent/gpu/work_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace castscope::gpu {
namespace {

using Found = WorkBook::Found;

class WorkBookTest : public testing::Test {
 protected:
  std::unique_ptr<WorkBook> book_{new WorkBook};
  Purpose purpose_;
};

TEST_F(WorkBookTest, WorkIsOpenUntilItIsSettled) {
  const std::uint64_t ticket = book_->open(0);
  EXPECT_EQ(book_->find(ticket, &purpose_), Found::kOpen);
  book_->settle(ticket, {.use = 7, .op = 3});
  EXPECT_EQ(book_->find(ticket, &purpose_), Found::kSettled);
  EXPECT_EQ(purpose_, (Purpose{.site = 0, .use = 7, .op = 3}));
}

TEST_F(WorkBookTest, ACastIsOfTheOperatorAroundItWhichEndsLater) {
  const std::uint64_t op = book_->open(0), cast = book_->open(op);
  book_->settle(cast, {.site = 12});
  EXPECT_EQ(book_->find(cast, &purpose_), Found::kOpen) << "the operator has no number yet";
  book_->settle(op, {.use = 7, .op = 3});
  EXPECT_EQ(book_->find(cast, &purpose_), Found::kSettled);
  EXPECT_EQ(purpose_, (Purpose{.site = 12, .use = 7, .op = 3}));
}

TEST_F(WorkBookTest, AnOperatorWithinAnotherIsItsOwn) {
  const std::uint64_t outer = book_->open(0), inner = book_->open(outer);
  book_->settle(inner, {.use = 9, .op = 4});
  EXPECT_EQ(book_->find(inner, &purpose_), Found::kSettled);
  EXPECT_EQ(purpose_.use, 9u);
}

TEST_F(WorkBookTest, TheCompiledRegionIsKnownFromTheBegin) {
  const std::uint64_t region = book_->open(0, 21);
  book_->settle(region, {});
  EXPECT_EQ(book_->find(region, &purpose_), Found::kSettled);
  EXPECT_EQ(purpose_, (Purpose{.origin = 21}));
  const std::uint64_t op = book_->open(region, 21);
  book_->settle(op, {.use = 7});
  EXPECT_EQ(book_->find(op, &purpose_), Found::kSettled);
  EXPECT_EQ(purpose_, (Purpose{.use = 7, .origin = 21}));
}

TEST_F(WorkBookTest, OfWorkThatWasSettledForNothingTheOuterOneCounts) {
  const std::uint64_t outer = book_->open(0), inner = book_->open(outer);
  book_->settle(inner, {});
  book_->settle(outer, {.op = 5});
  EXPECT_EQ(book_->find(inner, &purpose_), Found::kSettled);
  EXPECT_EQ(purpose_.op, 5u);
}

TEST_F(WorkBookTest, WhatWasOverwrittenIsGoneAndNeverAnothers) {
  const std::uint64_t old = book_->open(0);
  book_->settle(old, {.use = 1});
  for (std::size_t i = 0; i < WorkBook::kTickets; ++i) book_->settle(book_->open(0), {.use = 2});
  EXPECT_EQ(book_->find(old, &purpose_), Found::kGone);
  EXPECT_EQ(purpose_, Purpose{});
  book_->settle(old, {.use = 3});  // too late: the place is another's
  book_->find(old + WorkBook::kTickets, &purpose_);
  EXPECT_EQ(purpose_.use, 2u);
}

TEST_F(WorkBookTest, OfACastWhoseOperatorIsGoneTheSiteIsKnown) {
  const std::uint64_t op = book_->open(0);
  for (std::size_t i = 1; i < WorkBook::kTickets; ++i) book_->open(0);
  const std::uint64_t cast = book_->open(op);  // in the place of `op`
  book_->settle(cast, {.site = 12});
  EXPECT_EQ(book_->find(cast, &purpose_), Found::kGone);
  EXPECT_EQ(purpose_.site, 12u);
}

TEST_F(WorkBookTest, ThreadsThatSettleWhileOneAsksAreNeverMixedUp) {
  constexpr std::uint64_t kWanted = 200'000;
  std::atomic<std::uint64_t> newest{0};
  std::atomic<bool> over{false};
  const auto value_of = [](std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket % 1'000'003); };
  std::vector<std::thread> writers;
  for (int i = 0; i < 3; ++i)
    writers.emplace_back([&] {
      while (!over) {
        const std::uint64_t ticket = book_->open(0);
        const std::uint32_t value = value_of(ticket);  // all three tell which ticket it is
        book_->settle(ticket, {value, value, value});
        newest.store(ticket, std::memory_order_relaxed);
      }
    });
  std::uint64_t settled = 0, wrong = 0;
  while (settled < kWanted) {
    const std::uint64_t at = newest.load();
    for (std::uint64_t ticket = at > 100 ? at - 100 : 1; ticket <= at; ++ticket) {
      if (book_->find(ticket, &purpose_) != Found::kSettled) continue;
      const std::uint32_t value = value_of(ticket);
      wrong += !(purpose_ == Purpose{value, value, value});
      ++settled;
    }
  }
  over = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace castscope::gpu
