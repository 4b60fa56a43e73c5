#include "server/utf8/utf8.h"

#include <gtest/gtest.h>

namespace castscope::utf8 {
namespace {

constexpr char kMark[] = "\xef\xbf\xbd";

TEST(Utf8Test, ValidTextStaysAsItIs) {
  for (const std::string text : {"", "train.py", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(repaired(text), text);
}

TEST(Utf8Test, EveryStrayByteBecomesOneMark) {
  EXPECT_EQ(repaired("a\xff"
                     "b"),
            std::string("a") + kMark + "b");
  EXPECT_EQ(repaired("\xe2\x82"), std::string(kMark) + kMark);              // cut short
  EXPECT_EQ(repaired("\xc0\x80"), std::string(kMark) + kMark);              // overlong
  EXPECT_EQ(repaired("\xed\xa0\x80"), std::string(kMark) + kMark + kMark);  // surrogate
  EXPECT_EQ(first_character("\xf4\x90\x80\x80"), 0u);                       // past U+10FFFF
}

TEST(Utf8Test, CharactersAreCountedAndNeverTorn) {
  EXPECT_EQ(characters("a€😀"), 3u);
  EXPECT_EQ(cut("a€b", 5), 5u);
  EXPECT_EQ(cut("a€b", 4), 4u);
  EXPECT_EQ(cut("a€b", 3), 1u);
  EXPECT_EQ(cut("€", 2), 0u);
}

TEST(Utf8Test, SentencesOfOthersAreOneShortLine) {
  EXPECT_EQ(sentence_of_others("it is full, naïvely"), "it is full, naïvely");
  EXPECT_EQ(sentence_of_others("no\r\ncastscope: forged \x1b[31m\xff"),
            std::string("no??castscope: forged ?[31m") + kMark);
  const std::string longest(kMostOfASentence, 'x');
  EXPECT_EQ(sentence_of_others(longest), longest);
  EXPECT_EQ(sentence_of_others(longest + longest), longest + "…");
  EXPECT_EQ(sentence_of_others(longest.substr(1) + "ä" + longest), longest.substr(1) + "…");  // no half of a character
}

TEST(Utf8Test, PythonsEscapesAreBytesAgain) {
  EXPECT_EQ(bytes_of_name("caf\\udce9.py"), "caf\xe9.py");
  EXPECT_EQ(bytes_of_name("caf\\udc79.py"), "caf\\udc79.py");  // bytes that need no escape stay
  EXPECT_EQ(bytes_of_name("\\udc"), "\\udc");
}

TEST(Utf8Test, NothingThatTurnsOrHidesTextIsShown) {
  for (const std::string control :
       {"\x1b",   "\n",     "\x7f",   "\u0085", "\u00ad", "\u061c", "\u200b", "\u200d", "\u200e", "\u200f",
        "\u2028", "\u2029", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\ufffb", "\U000e0041"}) {
    EXPECT_EQ(control_at(control + "b"), control.size());
    EXPECT_EQ(on_one_line("a" + control + "b"), "a" + std::string(control.size(), '?') + "b");
  }
  for (const std::string text : {"a", "ä", "שלום", "مرحبا", "€", "‐", "…", "\u2030", "\u2070", "日本", "😀"})
    EXPECT_EQ(on_one_line(text), text);
  EXPECT_EQ(on_one_line("\xe2\x80"), "\xe2\x80") << "no character";
}

TEST(Utf8Test, NobodyEndsAQuotation) {
  EXPECT_EQ(quoted("a \"b\" \\"), R"("a \"b\" \\")");
  EXPECT_EQ(quoted("a\n\u202e"), R"("a????")");
  EXPECT_EQ(quoted("abcdef", 3), "\"abc… (3 more bytes)\"");
  EXPECT_EQ(quoted("a€", 3), "\"a… (3 more bytes)\"");
}

}  // namespace
}  // namespace castscope::utf8
