// Files whose tables are not castscope's: reading them must end.
#include <gtest/gtest.h>

#include "server/store/read/event_blocks.h"
#include "server/store/read/run_heading.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/run_store_test.h"
#include "server/store/write/run_store.h"

namespace castscope::store {
namespace {

// A view that never ends in the place of a table.
constexpr char kEndlessView[] = " AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";

class ForeignSchemaTest : public RunStoreTest {
 protected:
  void record() {
    auto store = create();
    TestRun run(*store);
    run.cast(run.weight("train.py", 10, "fc"), kTensor).end();
    ASSERT_TRUE(store->close().ok());
  }
  void change(const std::string& sql) {
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    const absl::Status status = database->exec(sql.c_str());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(database->close().ok());
  }
  // What every way in says of the file.
  void expect_refused(const std::string& words) {
    for (const absl::Status& status :
         {read_heading(path()).status(), read_counts(path()).status(), read_run(path()).status(),
          read_as_it_is(path()).status(), RunStore::resume(path(), {}).status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    }
  }
};

TEST_F(ForeignSchemaTest, AViewInThePlaceOfATableIsRefused) {
  record();
  change(std::string("DROP TABLE run; CREATE VIEW run") + kEndlessView + "'cwd' AS key, i AS value FROM n");
  expect_refused("run is a table in castscope's files, and here a view");
}

TEST_F(ForeignSchemaTest, NamesAreTheSameInCapitals) {
  record();
  change(std::string("DROP TABLE counters; CREATE VIEW COUNTERS") + kEndlessView +
         "i AS id, 1 AS process, 1 AS lane, 0 AS site, 1 AS casts, 1 AS cache_hits FROM n");
  expect_refused("counters is a table in castscope's files, and here a view");
}

TEST_F(ForeignSchemaTest, AnotherTableOfTheNameIsRefused) {
  record();
  change("DROP TABLE lanes; CREATE TABLE lanes (events_received, x AS (hex(zeroblob(1000000))))");
  expect_refused("the table lanes is another one");
}

TEST_F(ForeignSchemaTest, ATriggerIsRefused) {
  record();
  change("CREATE TRIGGER slow AFTER INSERT ON run BEGIN SELECT 1; END");
  expect_refused("it has a trigger (slow)");
}

TEST_F(ForeignSchemaTest, ViewsOfTheFileAreNotRead) {
  record();
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 1);
  change(std::string("DROP VIEW v_totals; CREATE VIEW v_totals") + kEndlessView +
         "sum(i) AS casts, 1 AS cache_hits FROM n");
  EXPECT_EQ(read_counts(path())->casts, 1u);
  EXPECT_TRUE(read_as_it_is(path()).ok());
}

TEST_F(ForeignSchemaTest, WhatPeopleAddForTheirQueriesDoesNoHarm) {
  record();
  change("CREATE INDEX by_operator ON sites (operator); CREATE TABLE notes (text); CREATE VIEW mine AS SELECT 1");
  EXPECT_TRUE(read_as_it_is(path()).ok());
  EXPECT_TRUE(read_heading(path()).ok());
}

TEST_F(ForeignSchemaTest, AFileThatHoldsFarTooMuchIsNotReadToItsEnd) {
  record();
  change(
      "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n LIMIT 1000) "
      "INSERT INTO lanes (process, lane) SELECT i, i FROM n");
  change(
      "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n LIMIT 1000) "
      "INSERT INTO counters (id, site) SELECT i, 0 FROM n");
  for (const absl::Status& status : {read_heading(path(), 1000).status(), read_counts(path(), 1000).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()), HasSubstr("reading was stopped"));
  }
  EXPECT_TRUE(read_heading(path()).ok());
  EXPECT_TRUE(read_counts(path()).ok());
}

}  // namespace
}  // namespace castscope::store
