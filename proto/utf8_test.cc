#include "proto/utf8.h"

#include <gtest/gtest.h>

namespace castscope::wire {
namespace {

constexpr char kMark[] = "\xef\xbf\xbd";

TEST(Utf8Test, ValidTextStaysAsItIs) {
  for (const std::string text : {"", "train.py", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(to_utf8(text), text);
}

TEST(Utf8Test, EveryStrayByteBecomesOneMark) {
  EXPECT_EQ(to_utf8("a\xff"
                    "b"),
            std::string("a") + kMark + "b");
  EXPECT_EQ(to_utf8("\xe2\x82"), std::string(kMark) + kMark);              // cut short
  EXPECT_EQ(to_utf8("\xc0\x80"), std::string(kMark) + kMark);              // overlong
  EXPECT_EQ(to_utf8("\xed\xa0\x80"), std::string(kMark) + kMark + kMark);  // surrogate
  EXPECT_EQ(utf8_sequence("\xf4\x90\x80\x80"), 0u);                        // past U+10FFFF
}

}  // namespace
}  // namespace castscope::wire
