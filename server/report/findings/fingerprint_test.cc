#include "server/report/findings/fingerprint.h"

#include <gtest/gtest.h>

namespace castscope::report {
namespace {

store::Finding finding(std::string rule, std::string file, std::int64_t line, std::string function = "train") {
  store::Finding one;
  one.rule = std::move(rule);
  one.location = store::CodeLocation{std::move(file), std::move(function), line};
  return one;
}

store::Finding placeless(std::string rule) {
  store::Finding one;
  one.rule = std::move(rule);
  return one;
}

store::SourceLines text_of(const std::string& file, std::map<std::int64_t, std::string> lines) {
  store::SourceLines source;
  source.add({file, store::SourceState::kKept, std::move(lines)});
  return source;
}

std::string one(const store::Finding& finding, const store::SourceLines& source, std::string_view folder = "/job") {
  return fingerprints(std::span(&finding, 1), source, folder).front();
}

// People have this value in their baselines: it must never change.
TEST(FingerprintTest, IsTheSameForEver) {
  EXPECT_EQ(one(finding("cache-grows", "/job/train.py", 8), text_of("/job/train.py", {{8, "y = f(x)"}})),
            "b0fe8d58d4d66dbe:1");
}

TEST(FingerprintTest, SurvivesAnEditAboveAnotherFolderAndOtherBlanks) {
  const std::string before =
      one(finding("cache-grows", "/job/train.py", 8), text_of("/job/train.py", {{8, "    y = f(x)"}}));
  EXPECT_EQ(before, one(finding("cache-grows", "/ci/build/train.py", 30),
                        text_of("/ci/build/train.py", {{30, "\ty  =  f(x) "}}), "/ci/build/"));
}

TEST(FingerprintTest, TellsApartRuleFunctionFileAndText) {
  const auto source = text_of("/job/train.py", {{8, "y = f(x)"}, {9, "y = g(x)"}});
  const std::string base = one(finding("cache-grows", "/job/train.py", 8), source);
  EXPECT_NE(base, one(finding("cache-other", "/job/train.py", 8), source));
  EXPECT_NE(base, one(finding("cache-grows", "/job/train.py", 8, "evaluate"), source));
  EXPECT_NE(base, one(finding("cache-grows", "/job/train.py", 9), source));
  EXPECT_NE(base, one(finding("cache-grows", "/job/other.py", 8), text_of("/job/other.py", {{8, "y = f(x)"}})));
}

TEST(FingerprintTest, WithoutTextTheNumberCounts) {
  EXPECT_NE(one(finding("cache-grows", "/job/train.py", 8), {}), one(finding("cache-grows", "/job/train.py", 9), {}));
  EXPECT_EQ(one(finding("cache-grows", "/job/train.py", 8), {}), one(finding("cache-grows", "/job/train.py", 8), {}));
}

// A run file holds the bytes of the line; its report holds what the writer made of them: one character for each byte,
// or one for several.
TEST(FingerprintTest, OfALineThatIsNoUtf8ItIsTheSameFromTheReport) {
  const auto of_line = [](const std::string& line) {
    return one(finding("cache-grows", "/job/train.py", 8), text_of("/job/train.py", {{8, line}}));
  };
  EXPECT_EQ(of_line("y = f(x)  # caf\xe9 \xe2\x82!"), of_line("y = f(x)  # caf\ufffd \ufffd!"));
  EXPECT_EQ(of_line("y = f(x)  # caf\xe9 \xe2\x82!"), of_line("y = f(x)  # caf\ufffd \ufffd\ufffd!"));
  EXPECT_NE(of_line("y = f(x)  # caf\xe9"), of_line("y = g(x)  # caf\xe9"));
}

TEST(FingerprintTest, EqualOnesAreNumbered) {
  const auto source = text_of("/job/train.py", {{8, "y = f(x)"}, {20, "y = f(x)"}});
  const std::vector<store::Finding> findings = {finding("cache-grows", "/job/train.py", 8),
                                                finding("cache-other", "/job/train.py", 8),
                                                finding("cache-grows", "/job/train.py", 20)};
  const std::vector<std::string> all = fingerprints(findings, source, "/job");
  EXPECT_EQ(all[0].substr(0, 16), all[2].substr(0, 16));
  EXPECT_TRUE(all[0].ends_with(":1") && all[1].ends_with(":1") && all[2].ends_with(":2"));
}

TEST(FingerprintTest, AFindingWithoutAPlaceIsKnownByItsRule) {
  EXPECT_EQ(one(placeless("cache-grows"), {}), one(placeless("cache-grows"), {}, "/elsewhere"));
  EXPECT_NE(one(placeless("cache-grows"), {}), one(placeless("cache-other"), {}));
}

TEST(PortablePathTest, OfTheJobOfAPackageOfNeither) {
  EXPECT_EQ(portable_path("/job/src/train.py", "/job"), "src/train.py");
  EXPECT_EQ(portable_path("/jobs/train.py", "/job"), "/jobs/train.py");
  EXPECT_EQ(portable_path("/job/.venv/lib/python3.11/site-packages/a/b.py", "/job"), "site-packages/a/b.py");
  EXPECT_EQ(portable_path("<string>", "/job"), "<string>");
  EXPECT_EQ(portable_path("<a//b/../c>", "/job"), "<a//b/../c>");
  EXPECT_EQ(portable_path("", "/job"), "");
}

// No fingerprint contains the folder that a job was started in.
TEST(PortablePathTest, StepsUpAreTaken) {
  EXPECT_EQ(portable_path("/job/sub/../lib/./mod.py", "/job"), "lib/mod.py");
  EXPECT_EQ(portable_path("sub/../lib/mod.py", "/job"), "lib/mod.py");
  EXPECT_EQ(portable_path("/job/sub/../../lib/mod.py", "/job"), "/lib/mod.py");
}

}  // namespace
}  // namespace castscope::report
