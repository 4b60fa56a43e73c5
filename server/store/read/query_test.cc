// SQL of others on a run file: it reads, and does nothing else.
#include "server/store/read/query.h"

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

constexpr char kEndless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

class QueryTest : public RunStoreTest {
 protected:
  QueryTest() : store_(create()) {
    TestRun run(*store_);
    const std::uint32_t weight = run.weight("train.py", 10, "fc"), input = run.input("train.py", 12, "fc");
    run.cast(weight, kTensor).cast(weight, kTensor).cast(input, kTensor);
    run.end();
    EXPECT_TRUE(store_->commit().ok());
  }
  void finish() {
    (void)store_->finish({.end_ns = start().start_ns + 1, .exit_status = 0, .signal = {}, .complete = true});
    EXPECT_TRUE(store_->close().ok());
  }
  absl::StatusOr<QueryResult> ask(const std::string& sql, const QueryLimits& limits = {}) {
    return store::query(path(), sql, limits, [] { return false; });
  }
  QueryResult result(const std::string& sql, const QueryLimits& limits = {}) {
    auto told = ask(sql, limits);
    EXPECT_TRUE(told.ok()) << told.status().message();
    return told.ok() ? *std::move(told) : QueryResult();
  }
  std::string wrong(const std::string& sql) {
    const auto told = ask(sql);
    EXPECT_EQ(told.status().code(), absl::StatusCode::kInvalidArgument) << sql << ": " << told.status();
    return std::string(told.status().message());
  }

  std::unique_ptr<RunStore> store_;
};

TEST_F(QueryTest, TellsRowsInSqlsOrderWithTheirTypes) {
  finish();
  const QueryResult told = result("SELECT line, sum(casts) AS casts FROM v_sites GROUP BY line ORDER BY line DESC");
  EXPECT_EQ(told.columns, (std::vector<std::string>{"line", "casts"}));
  using Row = std::vector<Cell>;
  EXPECT_EQ(told.rows, (std::vector<Row>{{std::int64_t{12}, std::int64_t{1}}, {std::int64_t{10}, std::int64_t{2}}}));
  EXPECT_EQ(told.stopped, "");
  const QueryResult types = result("SELECT 1.5, NULL, 'é', x'00ff'; -- a comment may follow");
  EXPECT_EQ(types.rows, (std::vector<Row>{{1.5, std::monostate(), std::string("é"), std::string("x'00ff'")}}));
}

TEST_F(QueryTest, ReadsWhileTheRunIsWritten) {
  EXPECT_EQ(std::get<std::int64_t>(result("SELECT casts FROM v_totals").rows[0][0]), 3);
  TestRun other(*store_, 78);
  other.cast(other.weight("train.py", 10, "fc"), kTensor).end();
  ASSERT_TRUE(store_->commit().ok());
  EXPECT_EQ(std::get<std::int64_t>(result("SELECT casts FROM v_totals").rows[0][0]), 4);
}

// Whoever writes goes on while somebody reads: in the middle of a query another commit goes through.
TEST_F(QueryTest, TheWriterDoesNotWait) {
  absl::Status written = absl::UnknownError("nothing was written");
  const auto told = store::query(path(), kEndless, {}, [&] {
    TestRun other(*store_, 79);
    other.cast(other.weight("train.py", 10, "fc"), kTensor).end();
    written = store_->commit();
    return true;
  });
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(told->stopped, "cancelled");
}

TEST_F(QueryTest, NothingButReadingIsDone) {
  finish();
  const std::string other = path("other.db");
  for (const std::string& sql :
       {std::string("DELETE FROM sites"), std::string("CREATE TABLE t (x)"), std::string("CREATE TEMP TABLE t (x)"),
        "ATTACH '" + other + "' AS o", "VACUUM INTO '" + other + "'", std::string("PRAGMA user_version = 3"),
        std::string("PRAGMA query_only = OFF"), std::string("PRAGMA journal_mode = DELETE"), std::string("BEGIN"),
        std::string("PRAGMA temp_store_directory = '/tmp'"), std::string("EXPLAIN DELETE FROM sites"),
        std::string("REINDEX")})
    EXPECT_THAT(wrong(sql), HasSubstr("only reads")) << sql;
  EXPECT_THAT(wrong("UPDATE sqlite_master SET type = 'x'"), HasSubstr("may not be modified"));
  for (const char* const call :
       {"load_extension('x')", "fts3_tokenizer('simple')", "fts3_tokenizer('simple', x'41')",
        "FTS3_Tokenizer('simple', x'41')", "rtreecheck('main', 'x')", "json_patch('{}', '{}')"})
    EXPECT_THAT(wrong(absl::StrCat("SELECT ", call)), HasSubstr("not authorized to use function")) << call;
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(result("PRAGMA user_version").rows.size(), 1u);
  EXPECT_GT(result("SELECT name FROM pragma_table_info('v_sites')").rows.size(), 10u);
  EXPECT_EQ(result("SELECT value FROM json_each('[1, 2]')").rows.size(), 2u);
  EXPECT_TRUE(ask("EXPLAIN QUERY PLAN SELECT * FROM sites").ok());
}

// SQLite itself is asked the same, without a guard.
TEST_F(QueryTest, TextsAreTrimmedFoundAndReplacedAsSQLiteDoesIt) {
  finish();
  auto plain = Database::open(":memory:", SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const std::vector<std::string> texts = {"''",        "' a é '",    "'éèé'",         "'aaab'",  "'ab'",  "'b'",
                                          "NULL",      "12",         "1.50",          "x'00ff'", "x'ff'", "x'c3'",
                                          "x'c3a961'", "'a'||x'00'", "char(0x1f600)", "' '"};
  for (const std::string& a : texts) {
    std::vector<std::string> calls = {"trim(" + a + ")", "ltrim(" + a + ")", "rtrim(" + a + ")"};
    for (const std::string& b : texts) {
      for (const char* const name : {"trim", "ltrim", "rtrim", "instr"})
        calls.push_back(absl::StrCat(name, "(", a, ", ", b, ")"));
      for (const char* const c : {"'xy'", "x'ff'", "NULL"})
        calls.push_back(absl::StrCat("replace(", a, ", ", b, ", ", c, ")"));
    }
    for (const std::string& call : calls) {
      const std::string sql = absl::StrCat("SELECT typeof(", call, ") || ' ' || coalesce(hex(", call, "), '')");
      auto asked = Statement::prepare(*plain, sql);
      ASSERT_TRUE(asked.ok()) << asked.status();
      ASSERT_EQ(sqlite3_step(asked->handle()), SQLITE_ROW);
      EXPECT_EQ(std::get<std::string>(result(sql).rows.at(0).at(0)),
                reinterpret_cast<const char*>(sqlite3_column_text(asked->handle(), 0)))
          << call;
    }
  }
}

// SQLite's own take hours for these, without asking whether to go on.
TEST_F(QueryTest, TextsOfMegabytesAreTrimmedFoundAndReplaced) {
  finish();
  const std::string long_text = "hex(zeroblob(1000000))", end = "hex(zeroblob(500000)) || 'b'";
  const auto length = [&](const std::string& of) {
    return std::get<std::int64_t>(result("SELECT " + of).rows.at(0).at(0));
  };
  EXPECT_EQ(length("length(trim(" + long_text + ", printf('%.*c', 1000000, 'b') || '0'))"), 0);
  EXPECT_EQ(length("instr(" + long_text + ", " + end + ")"), 0);
  EXPECT_EQ(length("length(replace(" + long_text + ", " + end + ", ''))"), 2'000'000);
  EXPECT_THAT(wrong("SELECT replace(" + long_text + ", '0', '0123456789')"), HasSubstr("too big"));
}

TEST_F(QueryTest, ErrorsHaveSqlitesWordsAndTheirPlace) {
  finish();
  EXPECT_EQ(wrong("SELECT 'é'\nFROM v_sites WHERE lin = 1"), "no such column: lin (line 2, column 20)");
  EXPECT_EQ(wrong("SELECT 'é', lin FROM v_sites"), "no such column: lin (line 1, column 13)");
  EXPECT_EQ(wrong("SELECT * FROM nowhere"), "no such table: nowhere");
  EXPECT_THAT(wrong("SELEC 1"), HasSubstr("syntax error (line 1, column 1)"));
  EXPECT_THAT(wrong("SELECT 1; SELECT 2"), HasSubstr("more than one statement"));
  EXPECT_THAT(wrong(" -- nothing"), HasSubstr("no statement"));
  EXPECT_THAT(wrong("SELECT ?"), HasSubstr("no values"));
  EXPECT_THAT(wrong(std::string(kMostSqlBytes + 1, ' ')), HasSubstr("longer than"));
  EXPECT_THAT(wrong("SELECT abs(-9223372036854775808)"), HasSubstr("integer overflow"));
}

TEST_F(QueryTest, IsStoppedWhenItTakesTooLong) {
  finish();
  const QueryResult told = result(kEndless, {.time = std::chrono::milliseconds(50)});
  EXPECT_EQ(told.stopped, "stopped after 0.05 s");
  EXPECT_TRUE(told.rows.empty());
  const QueryResult some = result("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
                                  {.time = std::chrono::milliseconds(50), .rows = 3});
  EXPECT_EQ(some.rows.size(), 3u);
  EXPECT_GT(some.left_out, 0u);
  EXPECT_EQ(some.stopped, "stopped after 0.05 s");
}

TEST_F(QueryTest, IsStoppedWhenItTakesTooMuchMemory) {
  finish();
  const QueryResult told = result(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000) "
      "SELECT i, hex(zeroblob(500)) FROM n ORDER BY i DESC",
      {.memory_bytes = 16 << 20});
  EXPECT_THAT(told.stopped, HasSubstr("16 MB of memory"));
  EXPECT_THAT(wrong("SELECT zeroblob(100000000)"), HasSubstr("too big"));
}

TEST_F(QueryTest, FurtherRowsAreCountedAndLongCellsCut) {
  finish();
  const QueryResult told =
      result("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 25) SELECT i FROM n", {.rows = 10});
  EXPECT_EQ(told.rows.size(), 10u);
  EXPECT_EQ(told.left_out, 15u);
  const QueryResult cells = result("SELECT 'éééé', x'010203', 'abc'", {.cell_bytes = 5});
  EXPECT_EQ(cells.rows[0], (std::vector<Cell>{std::string("éé"), std::string("x'0102'"), std::string("abc")}));
  EXPECT_EQ(cells.cut_cells, 2u);
  const QueryResult large =
      result("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 25) SELECT hex(zeroblob(50)) FROM n",
             {.result_bytes = 1000});
  EXPECT_EQ(large.rows.size() + large.left_out, 25u);
  EXPECT_LT(large.rows.size(), 12u);
}

TEST_F(QueryTest, AFileThatIsNoRunIsSaid) {
  finish();
  write(path(), std::string(5000, 'x'));
  EXPECT_THAT(std::string(ask("SELECT 1").status().message()), HasSubstr("not a castscope run file"));
}

}  // namespace
}  // namespace castscope::store
