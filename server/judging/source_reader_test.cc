#include "server/judging/source_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "server/rules/judgement.h"

namespace castscope::judging {
namespace {

using store::SourceState;

class SourceReaderTest : public ::testing::Test {
 protected:
  SourceReaderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-source-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    run_.start.cwd = folder_.string();
    run_.start.start_ns = std::numeric_limits<std::int64_t>::max();  // every file is older
  }
  ~SourceReaderTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string write_lines(const std::string& name, int count) {
    std::string text;
    for (int i = 1; i <= count; ++i) text += "line " + std::to_string(i) + "\n";
    return write(name, text);
  }
  // Adds a site in the user's own code, at this line.
  void site(const std::string& file, std::int64_t line) {
    run_.stacks.push_back({.frames = {{file, "f", line}}, .truncated = false});
    store::Site site;
    site.stack = run_.stacks.last();
    run_.sites.push_back(site);
  }
  static rules::Finding finding(const std::string& file, std::int64_t line) {
    rules::Finding finding;
    finding.location = store::CodeLocation{file, "f", line};
    return finding;
  }
  SourceState state(const std::string& file) {
    const store::SourceLines source = read_source(run_, {});
    EXPECT_NE(source.file(file), nullptr) << file;
    return source.file(file) == nullptr ? SourceState::kKept : source.file(file)->state;
  }

  std::filesystem::path folder_;
  store::RunData run_;
};

TEST_F(SourceReaderTest, ALineOfASiteAndThoseAroundAFinding) {
  const std::string file = write_lines("train.py", 20);
  site(file, 18);
  const std::vector<rules::Finding> findings = {finding(file, 2)};
  const store::SourceLines source = read_source(run_, findings);
  std::vector<std::int64_t> kept;
  for (const auto& [number, text] : source.file(file)->lines) {
    kept.push_back(number);
    EXPECT_EQ(text, "line " + std::to_string(number));
  }
  EXPECT_EQ(kept, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 18}));
}

TEST_F(SourceReaderTest, RelatedPlacesAreReadToo) {
  const std::string file = write_lines("train.py", 20);
  std::vector<rules::Finding> findings = {finding(file, 1)};
  findings[0].related = {{file, "g", 12}};
  EXPECT_EQ(read_source(run_, findings).line(file, 12), "line 12");
}

TEST_F(SourceReaderTest, RelativeNamesAreInTheRunsFolder) {
  write_lines("train.py", 3);
  site("train.py", 2);
  EXPECT_EQ(read_source(run_, {}).line("train.py", 2), "line 2");
}

TEST_F(SourceReaderTest, WhatChangedSinceTheRunBeganIsNotKept) {
  const std::string file = write_lines("train.py", 3);
  site(file, 2);
  run_.start.start_ns = 1;
  EXPECT_EQ(state(file), SourceState::kChanged);
  EXPECT_FALSE(read_source(run_, {}).line(file, 2).has_value());
}

TEST_F(SourceReaderTest, WhatIsNoOrdinaryTextIsNotRead) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes = write("bytes.py", std::string("a\0b\n", 4));
  const std::string large = write("large.py", std::string(3 << 20, '#'));
  for (const std::string& file : {pipe, bytes, large, std::string("/dev/zero"), folder_.string()}) site(file, 1);
  site((folder_ / "gone.py").string(), 1);
  EXPECT_EQ(state(pipe), SourceState::kNotText);
  EXPECT_EQ(state(bytes), SourceState::kNotText);
  EXPECT_EQ(state("/dev/zero"), SourceState::kNotText);
  EXPECT_EQ(state(folder_.string()), SourceState::kNotText);
  EXPECT_EQ(state(large), SourceState::kTooLarge);
  EXPECT_EQ(state((folder_ / "gone.py").string()), SourceState::kGone);
}

TEST_F(SourceReaderTest, CodeThatHasNoFileIsNotLookedFor) {
  write("<string>", "x\n");
  site("<string>", 1);
  site("", 1);
  EXPECT_TRUE(read_source(run_, {}).files().empty());
}

TEST_F(SourceReaderTest, LongLinesAreCutBetweenCharacters) {
  std::string line;
  while (line.size() < 500) line += "ä";
  const std::string file = write("train.py", line + "\r\nshort\r\n");
  site(file, 1);
  site(file, 2);
  const store::SourceLines source = read_source(run_, {}, {.line_bytes = 101});
  EXPECT_EQ(*source.line(file, 1), line.substr(0, 100) + "…");
  EXPECT_EQ(*source.line(file, 2), "short");
}

TEST_F(SourceReaderTest, LinesEndWherePythonEndsThem) {
  const std::string file = write("train.py", "one\rtwo\r\nthree\n\nfi\fve\xe2\x80\xa8more\r\r\neight");
  for (int line = 1; line <= 9; ++line) site(file, line);
  const store::SourceLines source = read_source(run_, {});
  EXPECT_EQ(source.file(file)->lines,
            (std::map<std::int64_t, std::string>{
                {1, "one"}, {2, "two"}, {3, "three"}, {4, ""}, {5, "fi\fve\xe2\x80\xa8more"}, {6, ""}, {7, "eight"}}));
}

TEST_F(SourceReaderTest, NamesMayHoldBytesThatAreNoUtf8) {
  write("caf\xe9.py", "one\n");
  const std::string name = (folder_ / "caf\\udce9.py").string();
  site(name, 1);
  EXPECT_EQ(read_source(run_, {}).line(name, 1), "one");
}

TEST_F(SourceReaderTest, AFileThatWasReplacedByAnOlderOneIsNotKept) {
  const std::string file = write_lines("train.py", 3);
  site(file, 2);
  const timespec long_ago[] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), long_ago, 0), 0);
  run_.start.start_ns = 2'000'000'000;
  EXPECT_EQ(state(file), SourceState::kChanged);
}

TEST_F(SourceReaderTest, ACommentThatSilencesIsKeptHoweverLongTheLine) {
  const std::string x(500, 'x');
  const std::string file =
      write("train.py", "f('" + x + "')  # noqa # castscope: ignore[cache-grows], it's so\n" + "f('" + x +
                            " # castscope: ignore')  # noqa\n" + "f()  # castscope: ignore -- " + x + "\n");
  for (int line = 1; line <= 3; ++line) site(file, line);
  const store::SourceLines source = read_source(run_, {});
  EXPECT_TRUE(rules::silences(*source.line(file, 1), "cache-grows")) << *source.line(file, 1);
  EXPECT_FALSE(rules::silences(*source.line(file, 1), "cache-other"));
  EXPECT_FALSE(rules::silences(*source.line(file, 2), "cache-grows")) << *source.line(file, 2);
  EXPECT_TRUE(rules::silences(*source.line(file, 3), "cache-grows")) << *source.line(file, 3);
  for (int line = 1; line <= 3; ++line) EXPECT_LT(source.line(file, line)->size(), 850u);
}

TEST_F(SourceReaderTest, FindingsComeFirstWhereRoomIsShort) {
  const std::string sites = write_lines("a.py", 9), found = write_lines("b.py", 9);
  for (int line = 1; line < 9; ++line) site(sites, line);
  const std::vector<rules::Finding> findings = {finding(found, 5)};
  const store::SourceLines source = read_source(run_, findings, {.total_bytes = 50});
  EXPECT_EQ(source.file(found)->lines.size(), 7u);  // 6 bytes each
  ASSERT_NE(source.file(sites), nullptr);
  EXPECT_EQ(source.file(sites)->lines.size(), 1u);
}

TEST_F(SourceReaderTest, LinesAreShownAsTheRunWasToldTo) {
  const std::string file = write("train.py", "login('hf_abcdefghijklmnopqrstuvwxyz')\n");
  site(file, 1);
  EXPECT_EQ(read_source(run_, {}).line(file, 1), "login('[redacted]')");
  EXPECT_EQ(read_whole(run_, file).lines.at(1), "login('[redacted]')");
  const auto hidden = [](std::string_view) { return std::string("hidden"); };
  EXPECT_EQ(read_source(run_, {}, {}, hidden).line(file, 1), "hidden");
}

TEST_F(SourceReaderTest, WhatIsWithheldIsNotRead) {
  const std::string file = write_lines("train.py", 3);
  site(file, 2);
  run_.start.source_withheld = "files";
  EXPECT_EQ(read_source(run_, {}).line(file, 2), "line 2");
  EXPECT_TRUE(read_whole(run_, file).lines.empty());
  run_.start.source_withheld = "all";
  EXPECT_TRUE(read_source(run_, {}).files().empty());
  EXPECT_TRUE(read_whole(run_, file).lines.empty());
}

}  // namespace
}  // namespace castscope::judging
