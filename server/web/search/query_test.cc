#include "server/web/search/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace castscope::web {
namespace {

using ::testing::HasSubstr;

SearchQuery parsed(std::string_view text) {
  auto query = parse_search(text);
  EXPECT_TRUE(query.ok()) << text << ": " << query.status().message();
  return query.ok() ? *std::move(query) : SearchQuery();
}
std::string complaint(std::string_view text) {
  const auto query = parse_search(text);
  EXPECT_FALSE(query.ok()) << text;
  return std::string(query.status().message());
}
SearchTerm word(std::string text, bool literal = false) { return {false, {}, {{std::move(text), literal}}}; }
SearchTerm has(SearchField field, std::string text, bool literal = false) {
  return {false, field, {{std::move(text), literal}}};
}
SearchTerm without(SearchTerm term) {
  term.negated = true;
  return term;
}

TEST(SearchQuery, TermsStandBetweenBlanks) {
  EXPECT_EQ(parsed(" linear \t cause:user_to\n"), (SearchQuery{word("linear"), has(SearchField::kCause, "user to")}));
}

TEST(SearchQuery, FieldsAreFoundByTheirNamesAndThoseOfReports) {
  for (const FieldInfo& info : search_fields()) {
    EXPECT_EQ(find_field(info.name)->field, info.field);
    EXPECT_EQ(name(info.field), info.name);
  }
  EXPECT_EQ(parsed("OP:mm operator:mm"), (SearchQuery{has(SearchField::kOp, "mm"), has(SearchField::kOp, "mm")}));
  EXPECT_EQ(parsed("why_not_cached:view"), (SearchQuery{has(SearchField::kCache, "view")}));
}

TEST(SearchQuery, APlaceOrAQualifiedNameIsNoField) {
  EXPECT_EQ(parsed("train.py:12 aten::mm at::native::x"),
            (SearchQuery{word("train.py:12"), word("aten::mm"), word("at::native::x")}));
  EXPECT_EQ(parsed("file:train.py:12"), (SearchQuery{has(SearchField::kFile, "train.py:12")}));
}

TEST(SearchQuery, AMinusOrTheWordNotNegates) {
  const SearchQuery query = {without(has(SearchField::kRole, "weight")), without(word("mm"))};
  EXPECT_EQ(parsed("-role:weight -mm"), query);
  EXPECT_EQ(parsed("not role:weight NOT mm"), query);
  EXPECT_EQ(parsed("not -mm"), (SearchQuery{word("mm")}));
  EXPECT_EQ(parsed("nothing --deep"), (SearchQuery{word("nothing"), word("--deep")}));
}

TEST(SearchQuery, QuotesHoldBlanksTogether) {
  EXPECT_EQ(parsed(R"("linear weight, float32")"), (SearchQuery{word("linear weight, float32", true)}));
  EXPECT_EQ(parsed(R"(region:"autocast cpu bfloat16" -"not")"),
            (SearchQuery{has(SearchField::kRegion, "autocast cpu bfloat16", true), without(word("not", true))}));
  EXPECT_EQ(parsed(R"("a \"b\" \\ \c")"), (SearchQuery{word(R"(a "b" \ \c)", true)}));
  EXPECT_EQ(parsed(R"("model:x" 5"x)"), (SearchQuery{word("model:x", true), word("5\"x")}));
}

TEST(SearchQuery, CommasGiveSeveralValues) {
  const SearchTerm term = {false, SearchField::kOp, {{"mm", false}, {"a,b", true}, {"add*", false}}};
  EXPECT_EQ(parsed(R"(op:mm,"a,b",add*)"), (SearchQuery{term}));
  EXPECT_EQ(parsed("mm,add"), (SearchQuery{word("mm,add")}));
}

TEST(SearchQuery, ArrowsAndUnderscoresAreAsThePagePrintsThem) {
  EXPECT_EQ(parsed("fp32->BF16"), (SearchQuery{word("fp32→bf16")}));
  EXPECT_EQ(parsed("->bf16 cache_disabled"), (SearchQuery{word("→bf16"), word("cache disabled")}));
  EXPECT_EQ(parsed("-fp32->bf16"), (SearchQuery{without(word("fp32→bf16"))}));
}

TEST(SearchQuery, WordsOfClosedListsMayBeWrittenInAnyOfTheirWays) {
  for (const char* text :
       {"cause:user_to", "cause:\"explicit to()\"", "cause:user*", "dtype:fp32", "to:FLOAT32", "from:float8*",
        "kind:hit", "kind:cache_hit", "kind:\"cache hit\"", "kind:cast", "cache:cache_disabled", "cache:\"not leaf\"",
        "cache:kept", "phase:backward", "rule:cache-grows", "rule:cache-*"})
    parsed(text);
}

TEST(SearchQuery, AComplaintSaysWhatAndWhere) {
  EXPECT_THAT(complaint(""), HasSubstr("empty"));
  EXPECT_THAT(complaint("  \t"), HasSubstr("empty"));
  EXPECT_THAT(complaint("linear layer:3"), HasSubstr("there is no field layer, which stands at character 8; the fields"
                                                     " are cause, role, dtype, "));
  EXPECT_THAT(complaint("layer:3"), HasSubstr("in quotes: \"layer:\""));
  EXPECT_THAT(complaint("mm role:"), HasSubstr("role: at character 4 has no value; its values are unknown, input, "));
  EXPECT_THAT(complaint("op:mm,"), HasSubstr("op: at character 1 has no value behind its comma"));
  EXPECT_THAT(complaint("module:,x"), HasSubstr("module: at character 1 has no value"));
  EXPECT_THAT(complaint("cause:expl"), HasSubstr("cause: has no value expl, which stands at character 7; its values "));
  EXPECT_THAT(complaint("to:fp31"), HasSubstr("such as float32"));
  EXPECT_THAT(complaint("rule:cache-grow"), HasSubstr("there is cache-grows"));
  EXPECT_THAT(complaint("é \"abc"), HasSubstr("the quotation mark at character 3 has no second one"));
  EXPECT_THAT(complaint("mm \"\""), HasSubstr("nothing stands between the quotation marks at character 4"));
  EXPECT_THAT(complaint("\"a\"b"), HasSubstr("a blank is missing behind the quotation mark at character 3"));
  EXPECT_THAT(complaint("mm -"), HasSubstr("nothing stands behind the - at character 4"));
  EXPECT_THAT(complaint("mm not "), HasSubstr("nothing stands behind the word not at character 4"));
  EXPECT_THAT(complaint(std::string(kMostSearchBytes + 1, 'x')), HasSubstr("longer than 4096 bytes"));
  std::string many;
  for (std::size_t i = 0; i <= kMostSearchValues; ++i) many += "x ";
  EXPECT_THAT(complaint(many), HasSubstr("more than 64"));
}

TEST(SearchQuery, StarsStandForAnyText) {
  const auto is = [](std::string pattern, std::string_view text) {
    return is_value({std::move(pattern), false}, text);
  };
  EXPECT_TRUE(is("mm", "mm"));
  EXPECT_FALSE(is("mm", "addmm"));
  EXPECT_TRUE(is("*mm", "addmm"));
  EXPECT_TRUE(is("a*m*", "addmm"));
  EXPECT_TRUE(is("*", ""));
  EXPECT_TRUE(is("a**b", "ab"));
  EXPECT_FALSE(is("a*b*c", "acb"));
  EXPECT_FALSE(is("", "a"));
  EXPECT_FALSE(is_value({"*", true}, "a"));
  EXPECT_TRUE(is_value({"*", true}, "*"));
}

// Any text is a query or a complaint of one line, whatever its bytes are.
TEST(SearchQuery, AnyTextIsAnswered) {
  std::mt19937 random(5);
  const std::string_view pieces[] = {"cause:", "op:",     "not ", "-",  "->",           "\"",      "\\",
                                     ",",      " ",       "*",    ":",  "\xe2\x86\x92", "\xff",    "é",
                                     "x",      "user_to", "\n",   "::", "rule:",        "kind:hit"};
  std::size_t understood = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 9; n > 0; --n) text += pieces[random() % std::size(pieces)];
    const auto query = parse_search(text);
    if (query.ok()) {
      ++understood;
      EXPECT_FALSE(query->empty()) << text;
      for (const SearchTerm& term : *query) {
        EXPECT_FALSE(term.values.empty()) << text;
        for (const SearchValue& value : term.values) EXPECT_FALSE(value.text.empty()) << text;
      }
    } else {
      const std::string told(query.status().message());
      EXPECT_FALSE(told.empty()) << text;
      EXPECT_EQ(told.find('\n'), std::string::npos) << text;
    }
  }
  EXPECT_GT(understood, 1000u);
}

}  // namespace
}  // namespace castscope::web
