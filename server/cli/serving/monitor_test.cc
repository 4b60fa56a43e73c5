#include "server/cli/serving/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/cli/serving/metrics.h"

namespace castscope::cli {
namespace {

using testing::HasSubstr;

web::Response ask(const std::string& path, const std::string& trouble = "", const std::string& host = "localhost") {
  return answer_monitor({.metrics = [] { return "a 1\n"; }, .trouble = [trouble] { return trouble; }},
                        {.method = "GET", .path = path, .query = "", .host = host});
}

TEST(MonitorTest, IsReadyUnlessNoRunCanBeTaken) {
  EXPECT_EQ(ask("/readyz").status, 200);
  EXPECT_EQ(ask("/readyz", "the disk is full").status, 503);
  EXPECT_EQ(ask("/readyz", "the disk is full").body, "not ready: the disk is full\n");
  EXPECT_EQ(ask("/healthz", "the disk is full").status, 200) << "a restart would not help";
  EXPECT_EQ(ask("/metrics").body, "a 1\n");
  EXPECT_EQ(ask("/").status, 404);
}

TEST(MonitorTest, AnswersToThisMachinesNamesAlone) {
  for (const char* host : {"localhost", "localhost:7392", "127.0.0.1:7392", "[::1]:7392"})
    EXPECT_EQ(ask("/metrics", "", host).status, 200) << host;
  for (const char* host : {"evil.example", "evil.example:7392", "127.0.0.1.evil.example", ""})
    for (const char* path : {"/metrics", "/healthz", "/readyz", "/"}) {
      EXPECT_EQ(ask(path, "", host).status, 421) << host;
      EXPECT_THAT(ask(path, "", host).body, testing::Not(HasSubstr("a 1"))) << host;
    }
}

TEST(MetricsTest, CountWhatWasTakenAndFound) {
  Metrics metrics;
  metrics.taken({.bytes = 10, .events = 3, .events_dropped = 1});
  metrics.taken({.bytes = 5, .events = 0, .events_dropped = 4});
  store::Finding finding;
  finding.rule = "cache-grows";
  finding.severity = "warning";
  metrics.found({finding, finding});
  const std::string text =
      metrics.text({.open_runs = 2, .open_streams = 3, .backlog_bytes = {{"", 7}, {"team", 8}}, .version = "1.2"});
  for (const char* line : {"castscope_messages_total 2\n", "castscope_received_bytes_total 15\n",
                           "castscope_events_received_total 3\n", "castscope_events_dropped_total 5\n",
                           "castscope_open_runs 2\n", "castscope_open_streams 3\n", "castscope_backlog_bytes 7\n",
                           "castscope_backlog_bytes{sender=\"team\"} 8\n", "castscope_build_info{version=\"1.2\"} 1\n",
                           "castscope_findings_total{rule=\"cache-grows\",severity=\"warning\"} 2\n"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(MonitorTest, AnAddressThatOthersCanReachIsRefusedForWhatIsTrueOfMetrics) {
  const std::string why(start_monitor("0.0.0.0:0", {}).status().message());
  EXPECT_THAT(why, HasSubstr("the page of metrics cannot listen on 0.0.0.0:0: others could reach it there, and it asks "
                             "nobody for a token"));
  EXPECT_THAT(why, testing::Not(HasSubstr("source code")));
}

}  // namespace
}  // namespace castscope::cli
