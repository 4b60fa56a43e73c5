#include <gtest/gtest.h>
#include <unwind.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>

#include "agent/machine/relocations.h"
#include "agent/machine/return_address.h"
#include "agent/machine/ticks.h"

namespace castscope::machine {
namespace {

using Function = std::ptrdiff_t (*)(std::ptrdiff_t);

// Where the return address into `outer` stands, counted from the frame of the innermost function.
struct Search {
  std::uint64_t outer;
  const char* cfa;
  std::ptrdiff_t offset = 0;
};

_Unwind_Reason_Code look(_Unwind_Context* context, void* data) {
  auto& search = *static_cast<Search*>(data);
  const std::uint64_t ip = _Unwind_GetIP(context);
  if (reinterpret_cast<std::uint64_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(ip))) != search.outer)
    return _URC_NO_REASON;
  const char* const place =
      place_of_return_address(ip, search.cfa, reinterpret_cast<const char*>(_Unwind_GetCFA(context)));
  search.offset = place == nullptr ? 0 : place - search.cfa;
  return _URC_END_OF_STACK;
}

std::uint64_t g_returns_to = 0;  // what the innermost function found there
std::uint64_t g_outer = 0;       // the function to look for

// `known` = 0: learns the offset. Otherwise reads the return address that stands there.
[[gnu::noipa]] std::ptrdiff_t innermost(std::ptrdiff_t known) {
  Search search{g_outer, static_cast<const char*>(__builtin_dwarf_cfa()), known};
  if (known == 0) _Unwind_Backtrace(look, &search);
  std::memcpy(&g_returns_to, search.cfa + search.offset, sizeof g_returns_to);
  return search.offset;
}

[[gnu::noipa]] std::ptrdiff_t helper(std::ptrdiff_t known) {
  volatile char room[200] = {};
  const std::ptrdiff_t offset = innermost(known);
  room[offset & 7] = 1;
  return offset + room[9];
}

// They keep what the helper returns in a frame of their own: otherwise they would jump to it, and not be on the stack.
[[gnu::noipa]] std::ptrdiff_t first(std::ptrdiff_t known) {
  volatile std::ptrdiff_t offset = helper(known);
  return offset;
}
[[gnu::noipa]] std::ptrdiff_t second(std::ptrdiff_t known) {
  volatile std::ptrdiff_t room[30] = {};
  room[3] = helper(known);
  return room[3];
}

Function function_that_returned_to(std::uint64_t address) {
  return reinterpret_cast<Function>(_Unwind_FindEnclosingFunction(reinterpret_cast<void*>(unsigned_address(address))));
}

TEST(ReturnAddress, StandsAtTheSamePlaceWhoeverCallsTheHelper) {
  g_outer = reinterpret_cast<std::uint64_t>(&second);
  const std::ptrdiff_t offset = second(0);
  ASSERT_NE(offset, 0);
  EXPECT_EQ(function_that_returned_to(g_returns_to), &second);
  EXPECT_EQ(first(offset), offset);
  EXPECT_EQ(function_that_returned_to(g_returns_to), &first);
}

TEST(ReturnAddress, IsTheSameWithoutASignatureThatItLacks) {
  const auto address = reinterpret_cast<std::uint64_t>(&helper);
  EXPECT_EQ(unsigned_address(address), address);
}

TEST(Ticks, RunAtOneRate) {
  if (!ticks_are_steady()) GTEST_SKIP() << "this processor's counter changes its rate";
  const auto rate = [] {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const std::uint64_t first_ticks = ticks();
    while (Clock::now() - begin < std::chrono::milliseconds(20)) {
    }
    const std::uint64_t last_ticks = ticks();
    const std::chrono::duration<double> took = Clock::now() - begin;
    return static_cast<double>(last_ticks - first_ticks) / took.count();
  };
  const double one = rate();
  EXPECT_GT(one, 1e6) << "a counter of less than 1 MHz tells nothing about a cast";
  double other = 0;
  std::thread([&] { other = rate(); }).join();
  EXPECT_NEAR(other / one, 1, 0.5);
}

TEST(Relocations, AreOfAWholeAddressOrNot) {
#if defined(__x86_64__)
  EXPECT_TRUE(is_whole_address(R_X86_64_JUMP_SLOT, 0) && is_whole_address(R_X86_64_64, 0));
  EXPECT_FALSE(is_whole_address(R_X86_64_64, 8) || is_whole_address(R_X86_64_RELATIVE, 0));
#else
  EXPECT_TRUE(is_whole_address(R_AARCH64_JUMP_SLOT, 0) && is_whole_address(R_AARCH64_ABS64, 0));
  EXPECT_FALSE(is_whole_address(R_AARCH64_ABS64, 8) || is_whole_address(R_AARCH64_RELATIVE, 0));
#endif
}

}  // namespace
}  // namespace castscope::machine
