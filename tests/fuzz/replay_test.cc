// Runs every fuzzer on its corpus, and on inputs that are made of it by chance, always the same ones: a moment's work,
// with any compiler. scripts/fuzz looks further.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/mutation.h"
#include "tests/fuzz/replay.h"

namespace castscope::fuzz {

void PrintTo(const Fuzzer& fuzzer, std::ostream* out) { *out << fuzzer.name; }

namespace {

constexpr char kFolder[] = CASTSCOPE_SOURCE_DIR "/tests/fuzz";

class FuzzTest : public testing::TestWithParam<Fuzzer> {};

TEST_P(FuzzTest, HoldsForItsCorpusAndWhatIsMadeOfIt) {
  const Corpus corpus = read_corpus(kFolder, GetParam().name);
  ASSERT_FALSE(corpus.inputs.empty()) << "there is no corpus in " << kFolder << "/corpus/" << GetParam().name;
  replay(GetParam(), corpus);
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTest, testing::ValuesIn(fuzzers()),
                         [](const auto& info) { return std::string(info.param.name); });

// A parser that falls over one letter, behind a word that only a dictionary knows.
void fall_over(std::string_view input) { CASTSCOPE_PROMISE(input.find("magic!") == input.npos, "nothing falls over"); }

TEST(ReplayTest, FindsAFaultAndKeepsItsInput) {
  const Fuzzer planted{"planted", fall_over, 2000, 100};
  const Corpus corpus{.inputs = {"some text!", "other text"}, .words = {"magic"}};
  EXPECT_DEATH(replay(planted, corpus), "this does not hold: nothing falls over(.|\n)*planted-");
}

TEST(MutationTest, MakesTheSameOfTheSame) {
  const Corpus corpus{.inputs = {"abc", "0123456789"}, .words = {"word"}};
  Mutation first(corpus, 100), second(corpus, 100);
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string next = first.next();
    EXPECT_EQ(next, second.next());
    EXPECT_LE(next.size(), 100u);
    all += next;
  }
  EXPECT_THAT(all, testing::HasSubstr("word"));
}

TEST(CorpusTest, ADictionaryIsReadAsLibFuzzerReadsIt) {
  EXPECT_THAT(words_of("# a comment\n\nkey=\"a\\x00b\"\n\"\\\"c\\\\\"\n"),
              testing::ElementsAre(std::string("a\0b", 3), "\"c\\"));
}

}  // namespace
}  // namespace castscope::fuzz
