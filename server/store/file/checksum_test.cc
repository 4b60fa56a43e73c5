#include "server/store/file/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

class ChecksumTest : public RunStoreTest {
 protected:
  void finish() {
    auto store = create();
    TestRun run(*store);
    const std::uint32_t region = run.region("train.py", 5);
    const std::uint32_t weight = run.weight("train.py", 8, "fc");
    run.enter(region).cast(weight, kTensor, true).hit(weight, kTensor).exit().step();
    run.end();
    ASSERT_TRUE(store->finish({.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true}).ok());
    ASSERT_TRUE(store->close().ok());
  }
  absl::Status change(const char* sql) {
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    return database.ok() ? database->exec(sql) : database.status();
  }
};

TEST_F(ChecksumTest, ANumberThatIsAnotherOneIsNoticed) {
  finish();
  ASSERT_TRUE(read_run(path()).ok());
  for (const char* sql :
       {"UPDATE counters SET casts = casts + 4", "UPDATE step_runs SET last_step = last_step + 1",
        "UPDATE processes SET cache_peak_bytes = 1", "UPDATE run SET value = 5 WHERE key = 'start_epoch_ns'",
        "UPDATE frames SET line = line + 1", "DELETE FROM region_use"}) {
    ASSERT_TRUE(change((std::string("SAVEPOINT s; ") + sql + "; RELEASE s").c_str()).ok()) << sql;
    EXPECT_THAT(std::string(read_run(path()).status().message()), HasSubstr("its checksum is not that")) << sql;
    const auto data = read_as_it_is(path());
    ASSERT_TRUE(data.ok()) << sql;
    ASSERT_TRUE(data->damage) << sql;
    EXPECT_TRUE(data->damage->evidence) << sql;
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(write_checksums(*database).ok());
    ASSERT_TRUE(database->close().ok());
    ASSERT_TRUE(read_run(path()).ok());
  }
}

TEST_F(ChecksumTest, AnEmptyTextHidesNothingThatComesBeforeIt) {
  finish();
  for (const char* last : {"UPDATE attributes SET value = ''", "INSERT INTO kernel_names VALUES (9, '')",
                           "UPDATE modules SET module = ''"})
    ASSERT_TRUE(change(last).ok()) << last;
  auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(write_checksums(*database).ok());
  ASSERT_TRUE(database->close().ok());
  ASSERT_TRUE(read_run(path()).ok());
  ASSERT_TRUE(change("UPDATE run SET value = 5 WHERE key = 'start_epoch_ns'").ok());
  EXPECT_THAT(std::string(read_run(path()).status().message()), HasSubstr("its checksum is not that"));
}

TEST_F(ChecksumTest, WhatIsOnlyShownIsNoEvidence) {
  finish();
  ASSERT_TRUE(change("INSERT INTO source_files SELECT * FROM source_files LIMIT 0; "
                     "UPDATE run SET value = '0' WHERE key = 'checksum_shown'")
                  .ok());
  const auto data = read_as_it_is(path());
  ASSERT_TRUE(data.ok());
  ASSERT_TRUE(data->damage);
  EXPECT_FALSE(data->damage->evidence);
}

TEST_F(ChecksumTest, ATableOfSomebodysOwnIsNoDamage) {
  finish();
  ASSERT_TRUE(change("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)").ok());
  EXPECT_TRUE(read_run(path()).ok());
}

TEST_F(ChecksumTest, AFileThatGoesOnHasNone) {
  finish();
  auto again = RunStore::resume(path());
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE((*again)->notice("goes on").ok());
  ASSERT_TRUE((*again)->commit().ok());
  EXPECT_TRUE(read_run(path()).ok());
  ASSERT_TRUE((*again)->close().ok());
  EXPECT_TRUE(read_run(path()).ok());
}

}  // namespace
}  // namespace castscope::store
