#include "agent/enforce/decided/pattern.h"

#include <random>
#include <regex>
#include <vector>

#include <gtest/gtest.h>

namespace castscope::enforce {
namespace {

Pattern pattern(const std::string& text) {
  std::string error;
  auto parsed = Pattern::parse(text, &error);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << error;
  return parsed ? *std::move(parsed) : *Pattern::parse("", &error);
}

std::string mistake_in(const std::string& text) {
  std::string error;
  EXPECT_FALSE(Pattern::parse(text, &error).has_value()) << text;
  return error;
}

struct Row {
  const char* pattern;
  std::vector<const char*> matching, others;
};

// As Python's re.fullmatch(pattern, text, re.ASCII) decides.
const Row kPythons[] = {
    // letters and the whole text
    {"head", {"head"}, {"heads", "ahead", ""}},
    {"", {""}, {"a"}},
    {"torch.nn.LayerNorm", {"torch.nn.LayerNorm", "torchXnn.LayerNorm"}, {}},
    {R"(torch\.nn\.LayerNorm)", {"torch.nn.LayerNorm"}, {"torchXnn.LayerNorm"}},
    // paths
    {R"(encoder\.layers\.[0-9]+\.attn)",
     {"encoder.layers.11.attn"},
     {"encoder.layers..attn", "encoder.layers.1.attn.q"}},
    {R"(head\..*)", {"head.0", "head."}, {"head"}},
    {R"(.*\.(q|k|v)_proj)", {"a.b.k_proj"}, {"a.o_proj"}},
    {R"((?:.*\.)?norm\d?)", {"norm", "a.b.norm2"}, {"a.bnorm", "norm22"}},
    // any character
    {".", {"a", "é", "😀"}, {"", "\n"}},
    {"..", {}, {"é"}},
    {"a.c", {"abc"}, {"a\nc"}},
    {".*", {""}, {"a\nb"}},
    // sets
    {"[abc]", {"b"}, {"d", "ab"}},
    {"[^abc]", {"d", "\n"}, {"a", ""}},
    {"[a-cx-z]+", {"abxyz"}, {"abw"}},
    {"[]a]+", {"a]]"}, {"b"}},
    {"[^]a]", {"b"}, {"]"}},
    {"[a-]+", {"a-a"}, {"b"}},
    {"[-a]", {"-"}, {}},
    {"[a-b-c]+", {"a-c"}, {"+"}},
    {R"([\]\\]+)", {R"(]\)"}, {}},
    {"[.*]+", {".*"}, {"a"}},
    {"[a^]+", {"^a"}, {}},
    {R"([\n\t]+)", {"\t\n"}, {"n"}},
    // classes
    {R"(\d+)", {"0123456789"}, {"٣", ""}},
    {R"(\D)", {"a", "٣", "\n"}, {"5"}},
    {R"(\w+)", {"aZ_09"}, {"é", "a-b"}},
    {R"(\W)", {"é", "-"}, {"_"}},
    {R"(\s+)", {" \t\n\v\f\r"}, {"\u00a0"}},
    {R"(\S)", {"a", "\u00a0"}, {" "}},
    {R"([\d.]+)", {"1.5"}, {"1,5"}},
    {R"([^\d.])", {"a"}, {"1", "."}},
    {R"([\w-]+)", {"a-b"}, {"a+b"}},
    {R"([\D])", {"x"}, {"7"}},
    // escapes
    {R"(\.\*\+\?\(\)\[\]\{\}\|\^\$\\)", {R"(.*+?()[]{}|^$\)"}, {}},
    {R"(\n\t)", {"\n\t"}, {}},
    {R"(\-\_\ \/\")", {R"(-_ /")"}, {}},
    {"a}b]", {"a}b]"}, {}},
    // repetitions
    {"a*", {"", "aaa"}, {"aab"}},
    {"a+", {"a"}, {""}},
    {"a?", {"", "a"}, {"aa"}},
    {"a{3}", {"aaa"}, {"aa", "aaaa"}},
    {"a{2,}", {"aa", "aaaaa"}, {"a"}},
    {"a{1,3}", {"aaa"}, {"", "aaaa"}},
    {"a{0}", {""}, {"a"}},
    {"(ab){2}", {"abab"}, {"ab"}},
    {"ab{2}", {"abb"}, {"abab"}},
    {"a*?", {"aaa", ""}, {}},
    {"a+?b??", {"aab"}, {"b"}},
    {"a{2}?", {"aa"}, {"a"}},
    {"(a{2}){2}", {"aaaa"}, {"aaa"}},
    {"(a*)*", {"", "aaaa"}, {"b"}},
    {"(a?){3}", {"", "aaa"}, {"aaaa"}},
    {"()*", {""}, {"a"}},
    {"(|a)+", {"", "aa"}, {"b"}},
    {"(a|b)*abb", {"ababb"}, {"abab"}},
    {"(?:ab|a)(?:c|bcd)(?:d*)", {"abcd", "abcdd", "ac"}, {"ab"}},
    // branches
    {"a|b", {"a", "b"}, {"ab"}},
    {"a|", {"", "a"}, {"b"}},
    {"|a", {"", "a"}, {}},
    {"a(b|c|)d", {"abd", "acd", "ad"}, {"aed"}},
    {"ab|cd", {"ab", "cd"}, {"abd", "acd"}},
    {"a|ab|abc", {"abc", "ab"}, {"abcd"}},
    {"x(y(z|)|)", {"x", "xy", "xyz"}, {"xz"}},
    // anchors
    {"^a$", {"a"}, {"a\n"}},
    {R"(\Aa)", {"a"}, {}},
    {"^", {""}, {" "}},
    {"$", {""}, {"\n"}},
    {"^a|b$", {"a", "b"}, {}},
    {"(^a|^b)$", {"b"}, {}},
    {"^^a$$", {"a"}, {}},
    {"((^|^a)b|c)$", {"ab", "c", "b"}, {}},
    // either case
    {"(?i)layernorm", {"LayerNorm", "LAYERNORM"}, {"LayerNorms"}},
    {"(?i)[a-f]+x", {"aFX"}, {"gx"}},
    {"(?i)[^a]", {"b"}, {"A"}},
    {"(?i)[Z-a]", {"z", "A", "_"}, {"b"}},
    {R"((?i)\W)", {"-"}, {"a"}},
    {"(?i)", {""}, {}},
    {"(?i)s", {"S"}, {"ſ"}},
    // beyond ASCII
    {"größe", {"größe"}, {"grosse"}},
    {"é+", {"éé"}, {"é\u0301"}},
    {"[é-ö]+", {"éêö"}, {"e"}},
    {"[^é]", {"e", "😀"}, {"é"}},
    {".{2}", {"é😀"}, {"é"}},
    {"😀|€", {"€"}, {}},
    // many ways
    {"(a+)+b", {"aaaaab"}, {"aaaaaa"}},
    {"(a|a)*", {"aaaa"}, {"aab"}},
    {"(a*)*b", {"aaab"}, {"aaac"}},
    {"(.*)(.*)(.*)x", {"aaax"}, {"aaay"}},
    {"a?a?a?aaa", {"aaa", "aaaaaa"}, {"aa"}},
};

TEST(PatternTest, MatchesWhatPythonMatches) {
  for (const auto& [text, matching, others] : kPythons) {
    const Pattern p = pattern(text);
    for (const char* name : matching) EXPECT_TRUE(p.matches_all(name)) << text << " and " << name;
    for (const char* name : others) EXPECT_FALSE(p.matches_all(name)) << text << " and " << name;
  }
}

TEST(PatternTest, WhatIsNoPatternIsToldWithItsPlace) {
  for (const auto& [text, why] : std::vector<std::pair<const char*, const char*>>{
           {"é(a", "2: this ( is never closed"},
           {"a)", "2: this ) closes nothing"},
           {"a[", "2: this [ is never closed"},
           {"[^", "1: this [ is never closed"},
           {"[]", "1: this [ is never closed"},
           {"[a-", "1: this [ is never closed"},
           {"[bz-a]", "3: this is not a range of characters"},
           {R"([a-\d])", "2: this is not a range of characters"},
           {R"([\d-z])", "2: this is not a range of characters"},
           {"ab\\", "3: a backslash at the end stands for nothing"},
           {"[\\", "2: a backslash at the end stands for nothing"},
           {"*a", "1: there is nothing before this * to repeat"},
           {"a|+", "3: there is nothing before this + to repeat"},
           {"(?)", "1: (? is not supported in module patterns"},
           {"(?:?)", "4: there is nothing before this ? to repeat"},
           {"^*", "2: there is nothing before this * to repeat"},
           {"{2}", "1: there is nothing before this { to repeat"},
           {"a**", "3: a repetition is repeated here; put ( ) around the inner one"},
           {"a{2}{3}", "5: a repetition is repeated here; put ( ) around the inner one"},
           {"a???", "4: a repetition is repeated here; put ( ) around the inner one"},
           {"a*+", "3: a + behind a repetition is not supported in module patterns"},
           {"a{3,2}", "2: the maximum is less than the minimum"},
           {"a{1001}", "2: more than 1000 repetitions"},
           {"a{1,99999999999999999999}", "2: more than 1000 repetitions"},
           {"a^b", "2: ^ and \\A are supported at the start alone"},
           {"(^a)*", "2: ^ and \\A are supported at the start alone"},
           {"(b|c)\\A", "6: ^ and \\A are supported at the start alone"},
           {"(a$|b)c*", "3: $ is supported at the end alone"},
           {"(a$)*", "3: $ is supported at the end alone"},
           {"a(?i)b", "2: (?i) is supported at the start alone"},
           {"(?i)aé", "6: a character outside ASCII beside (?i) is not supported in module patterns"},
           {"a\xff", "2: this is not UTF-8"}})
    EXPECT_EQ(mistake_in(text), std::string("at character ") + why) << text;
  for (const char* braces : {"a{", "a{}", "a{,2}", "a{x}", "a{1", "a{1,", "a{01}", "a{1,02}", "a{1 }"})
    EXPECT_EQ(mistake_in(braces),
              "at character 2: this is not {m}, {m,} or {m,n}; to match the character itself, write \\{");
}

TEST(PatternTest, WhatOthersHaveIsRefused) {
  for (const auto& [text, what] : std::vector<std::pair<const char*, const char*>>{
           {R"(\bx)", R"(\b)"},    {R"(\B)", R"(\B)"},      {R"(\1)", R"(\1)"},
           {R"(\0)", R"(\0)"},     {R"(\Z)", R"(\Z)"},      {R"(\z)", R"(\z)"},
           {R"(\pL)", R"(\p)"},    {R"(\Qa.b\E)", R"(\Q)"}, {R"(\x41)", R"(\x)"},
           {R"(\u00e9)", R"(\u)"}, {R"(\N{DOT})", R"(\N)"}, {R"(\C)", R"(\C)"},
           {R"(\r)", R"(\r)"},     {"(?=a)", "(?="},        {"(?!a)", "(?!"},
           {"(?<=a)", "(?<="},     {"(?<!a)", "(?<!"},      {"(?P<n>a)", "(?P<"},
           {"(?P=n)", "(?P="},     {"(?<n>a)", "(?<"},      {"(?>a)", "(?>"},
           {"(?#a)", "(?#"},       {"(?(1)a)", "(?("},      {"(?s).", "(?s"},
           {"(?m)a", "(?m"},       {"(?x)a", "(?x"},        {"(?i:a)", "(?i"},
           {"(?-i)", "(?-"},       {"(?is)a", "(?i"},       {R"(\é)", "a backslash before this character"}})
    EXPECT_EQ(mistake_in(text), std::string("at character 1: ") + what + " is not supported in module patterns")
        << text;
  EXPECT_EQ(mistake_in("[[:alpha:]]"), "at character 2: [: is not supported in module patterns");
  EXPECT_EQ(mistake_in(R"([\b])"), R"(at character 2: \b is not supported in module patterns)");
}

TEST(PatternTest, APatternHasBounds) {
  EXPECT_TRUE(pattern("(a{1000}){10}").matches_all(std::string(10'000, 'a')));
  EXPECT_EQ(mistake_in("((a{1000}){10})b"), "at character 16: the pattern has more than 10000 states");
  EXPECT_EQ(mistake_in("(a{1000}){11}"), "at character 10: the pattern has more than 10000 states");
  EXPECT_EQ(mistake_in("(((a{1000}){1000}){1000}){1000}"), "at character 12: the pattern has more than 10000 states");
  EXPECT_EQ(mistake_in(std::string(10'000, '|')), "at character 1: the pattern has more than 10000 states");
  pattern("((((){1000}){1000}){1000}){1000}");
  const auto nested = [](int depth) { return std::string(depth, '(') + "a" + std::string(depth, ')'); };
  EXPECT_TRUE(pattern(nested(100)).matches_all("a"));
  EXPECT_EQ(mistake_in(nested(1'000'000)), "at character 101: more than 100 groups within each other");
}

TEST(PatternTest, NoPatternTakesLong) {
  const std::string as(100'000, 'a');
  for (const char* text :
       {"(a+)+b", "(a|a)*b", "(a*)*b", "((a?)*)*b", "(.*)*(.*)*(.*)*b", "(a|aa|aaa)+b", "([a-z]+.?)+b"}) {
    EXPECT_FALSE(pattern(text).matches_all(as)) << text;
    EXPECT_TRUE(pattern(text).matches_all(as + "b")) << text;
  }
  EXPECT_TRUE(pattern("(a?){1000}a{1000}").matches_all(std::string(1500, 'a')));
}

TEST(PatternTest, ATextThatIsNotUtf8MatchesNothing) {
  for (const char* text : {"\xff", "\xc3", "\xc3(", "\xe2\x82", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(pattern(".*").matches_all(text));
    EXPECT_FALSE(pattern("[^x]+").matches_all(text));
  }
  EXPECT_TRUE(pattern("..").matches_all(std::string("\0\x7f", 2)));
  EXPECT_TRUE(pattern("...").matches_all("\u0080\uffff\U0010ffff"));
}

// ---- against <regex>, in the syntax that it shares

class Grammar {
 public:
  explicit Grammar(unsigned seed) : random_(seed) {}
  std::string pattern(int depth) {
    switch (depth == 0 ? 0 : below(5)) {
      case 1:
        return pattern(depth - 1) + pattern(depth - 1);
      case 2:
        return one_of({"(", "(?:"}) + pattern(depth - 1) + ")";
      case 3:
        return "(" + pattern(depth - 1) + "|" + pattern(depth - 1) + ")";
      case 4:
        return "(" + pattern(depth - 1) + ")" +
               one_of({"*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{1,}", "{0}"});
      default:
        return one_of({"a", "b", "c", ".", "[ab]", "[^a]", "[a-c]", R"(\w)", R"(\d)", R"([\d_])", R"(\.)", ""});
    }
  }
  std::string text() {
    std::string made;
    for (int left = below(7); left > 0; --left) made += one_of({"a", "a", "b", "c", "1", ".", "_"});
    return made;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % n); }
  std::string one_of(const std::vector<const char*>& words) { return words[random_() % words.size()]; }

  std::mt19937 random_;
};

TEST(PatternTest, MadeUpPatternsMatchWhatTheStandardLibraryMatches) {
  Grammar grammar(20260);
  int matched = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = grammar.pattern(4);
    const Pattern ours = pattern(text);
    const std::regex theirs(text);
    for (int n = 0; n < 12; ++n) {
      const std::string name = grammar.text();
      const bool is_match = std::regex_match(name, theirs);
      matched += is_match;
      ASSERT_EQ(ours.matches_all(name), is_match) << text << " and " << name;
    }
  }
  EXPECT_GT(matched, 3000);
}

}  // namespace
}  // namespace castscope::enforce
