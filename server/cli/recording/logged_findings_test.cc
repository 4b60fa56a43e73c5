#include "server/cli/recording/logged_findings.h"

#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

store::RunData run_of(const std::vector<std::int64_t>& pids) {
  store::RunData data;
  data.start.cwd = "/home/user/project";
  for (const std::int64_t pid : pids) {
    store::Process& process = data.processes.emplace_back();
    process.id = data.processes.last();
    process.info.pid = pid;
    process.info.host = "node1";
  }
  return data;
}

store::Finding found(std::int64_t line, std::int64_t size = 1, const std::string& rule = "cache-grows") {
  store::Finding finding;
  finding.rule = rule;
  finding.severity = "warning";
  finding.title = "the cache grows to " + std::to_string(size) + " entries";
  finding.location = store::CodeLocation{.file = "/home/user/project/train.py", .function = "main", .line = line};
  finding.evidence_number = {{"entries", size}};
  return finding;
}

std::vector<std::string> texts(const std::vector<LogLine>& lines) {
  std::vector<std::string> texts;
  for (const LogLine& line : lines) texts.push_back(line.text);
  return texts;
}

using Texts = std::vector<std::string>;

class LoggedFindingsTest : public ::testing::Test {
 protected:
  Texts new_lines(const std::vector<store::Finding>& findings, bool last = false) {
    return texts(logged.new_lines(data, findings, last));
  }
  const store::RunData data = run_of({4711});
  LoggedFindings logged{"job-7"};
};

TEST_F(LoggedFindingsTest, EachOnce) {
  EXPECT_EQ(new_lines({found(12)}),
            Texts{"run job-7: warning cache-grows at train.py:12, process 4711 on node1: the cache "
                  "grows to 1 entries"});
  EXPECT_EQ(new_lines({found(12)}), Texts{});
  EXPECT_EQ(new_lines({found(5), found(12)}).size(), 1u);  // the finding before it is another one
  EXPECT_EQ(new_lines({found(5), found(12)}, true), Texts{});
}

TEST_F(LoggedFindingsTest, ItsSeverityIsTheLevel) {
  store::Finding finding = found(12);
  finding.severity = "error";
  EXPECT_EQ(logged.new_lines(data, {finding})[0].level, LogLine::Level::kError);
  EXPECT_EQ(logged.new_lines(data, {finding, found(13)})[0].level, LogLine::Level::kWarning);
}

TEST_F(LoggedFindingsTest, GrownTenfold) {
  (void)new_lines({found(12, 3)});
  EXPECT_EQ(new_lines({found(12, 29)}), Texts{});
  EXPECT_EQ(new_lines({found(12, 30)}),
            Texts{"run job-7: grown: cache-grows at train.py:12, process 4711 on node1: the "
                  "cache grows to 30 entries"});
  EXPECT_EQ(new_lines({found(12, 299)}), Texts{});
}

TEST_F(LoggedFindingsTest, NoLongerFound) {
  (void)new_lines({found(12)});
  EXPECT_EQ(new_lines({}), Texts{"run job-7: no longer found: cache-grows at train.py:12"});
  EXPECT_EQ(new_lines({}), Texts{});
  EXPECT_EQ(new_lines({found(12)}), Texts{});  // coming and going is logged once
  EXPECT_EQ(new_lines({}), Texts{});
}

TEST_F(LoggedFindingsTest, ThousandsOfOneRuleAreCounted) {
  std::vector<store::Finding> many;
  std::size_t lines = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) many.push_back(found(static_cast<std::int64_t>(many.size() + 1)));
    lines += new_lines(many).size();
  }
  EXPECT_LT(lines, 10u + 16u);
  many.push_back(found(1, 1, "cache-holds-input"));
  const Texts end = new_lines(many, true);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_NE(end[0].find("cache-holds-input"), std::string::npos);  // another rule has lines of its own
  EXPECT_EQ(end[1],
            "run job-7: 9,990 more findings of cache-grows so far, each at another line, not listed one by one");
  std::size_t withdrawn = new_lines({}).size();
  EXPECT_EQ(withdrawn, 11u);
}

TEST_F(LoggedFindingsTest, TheProcessesInWhichItIs) {
  store::RunData ranks = run_of({1, 2, 3, 4});
  ranks.processes.front().attributes = {{"rank", "0"}};
  ranks.processes[store::ProcessId(4)].info.host = "node2";
  EXPECT_EQ(logged.new_lines(ranks, {found(12)})[0].text,
            "run job-7: warning cache-grows at train.py:12, 4 processes on node1 and 1 other host: 1 (rank 0), 2, 3, "
            "…: the cache grows to 1 entries");
}

TEST_F(LoggedFindingsTest, NothingInItBreaksTheLine) {
  store::Finding finding = found(12);
  finding.title = "two\nlines \x1b[31m" + std::string(2000, 'x') + "\xff";
  const Texts one = new_lines({finding});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].find('\n'), std::string::npos);
  EXPECT_EQ(one[0].find('\x1b'), std::string::npos);
  EXPECT_LT(one[0].size(), 700u);
}

}  // namespace
}  // namespace castscope::cli
