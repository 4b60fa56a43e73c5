// SQL on a run's file, asked through the API.
#include <latch>
#include <thread>

#include "server/web/api/routes_test.h"

namespace castscope::web {
namespace {

// "SELECT 1 + 1" as it stands in an address.
std::string in_address(const std::string& sql) {
  std::string encoded;
  for (const char c : sql) {
    const char* const digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += digits[byte >> 4];
    encoded += digits[byte & 15];
  }
  return encoded;
}

constexpr char kEndless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

class QueryRouteTest : public RoutesTest {
 protected:
  QueryRouteTest() {
    record();
    show();
  }
  Json told(const std::string& sql, const std::string& more = "") {
    return json("runs/run/query", "sql=" + in_address(sql) + more);
  }
};

TEST_F(QueryRouteTest, TellsColumnsAndRows) {
  const Json answer = told("SELECT casts, 'é' AS letter, NULL AS none FROM v_totals");
  EXPECT_EQ(answer["result_columns"], Json({"casts", "letter", "none"}));
  EXPECT_EQ(answer["result_rows"], Json::array({Json::array({4, "é", nullptr})}));
  EXPECT_EQ(answer["rows_left_out"], 0);
  EXPECT_EQ(answer["query_stopped"], nullptr);
}

TEST_F(QueryRouteTest, NumbersThatNotEveryLanguageReadsAreText) {
  const Json answer = told("SELECT 9007199254740993, -9007199254740993, 9007199254740991, 9e999, -9e999");
  EXPECT_EQ(answer["result_rows"][0],
            Json::array({"9007199254740993", "-9007199254740993", 9007199254740991, "Inf", "-Inf"}));
}

TEST_F(QueryRouteTest, WrongSqlIsThatParameter) {
  const Response response = ask("runs/run/query", "sql=" + in_address("SELECT x FROM v_totals"));
  EXPECT_EQ(response.status, 400);
  const Json problem = Json::parse(response.body);
  EXPECT_EQ(problem["detail"], "no such column: x (line 1, column 8)");
  EXPECT_EQ(problem["parameter"], "sql");
  EXPECT_THAT(trouble("runs/run/query", "", 400), HasSubstr("sql is missing"));
  EXPECT_THAT(trouble("runs/run/query", "sql=" + in_address("DROP TABLE sites"), 400), HasSubstr("only reads"));
}

TEST_F(QueryRouteTest, IsStoppedInTime) {
  EXPECT_EQ(told(kEndless, "&time_limit_ms=30")["query_stopped"], "stopped after 0.03 s");
}

TEST_F(QueryRouteTest, OneRunsAtATimeAndEndsWhenItsClientHangsUp) {
  std::latch at_work(1);
  std::atomic<bool> left = false;
  std::thread other([&] {
    bool told = false;
    const Response response = answer_api(runs_, {.method = "GET",
                                                 .path = "/api/v2/runs/run/query",
                                                 .query = "sql=" + in_address(kEndless),
                                                 .host = "localhost",
                                                 .hung_up = [&] {
                                                   if (!std::exchange(told, true)) at_work.count_down();
                                                   return left.load();
                                                 }});
    EXPECT_EQ(Json::parse(response.body)["query_stopped"], "cancelled");
  });
  at_work.wait();
  EXPECT_THAT(trouble("runs/run/query", "sql=" + in_address("SELECT 1"), 409), HasSubstr("another query runs"));
  EXPECT_EQ(json("runs/run/summary", window())["exact"], true);  // nothing else waits for it
  left = true;
  EXPECT_EQ(told("SELECT 1")["result_rows"][0][0], 1);
  other.join();
}

TEST_F(QueryRouteTest, AFileThatIsGoneIsSaid) {
  (void)loaded();
  std::filesystem::remove(path());
  EXPECT_THAT(trouble("runs/run/query", "sql=" + in_address("SELECT 1"), 404), HasSubstr("moved or deleted"));
}

}  // namespace
}  // namespace castscope::web
