#include "server/store/file/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

class ChecksumTest : public RunStoreTest {
 protected:
  void finish() {
    auto store = create({.overwrite = true});
    TestRun run(*store);
    const std::uint32_t region = run.region("train.py", 5);
    const std::uint32_t weight = run.weight("train.py", 8, "fc");
    run.enter(region).cast(weight, kTensor, true).hit(weight, kTensor).exit().step();
    run.end();
    ASSERT_TRUE(store->finish({.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true}).ok());
    ASSERT_TRUE(store->close().ok());
  }
  // Makes the checksums right again.
  void seal() {
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(write_checksums(*database).ok());
    ASSERT_TRUE(database->close().ok());
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
    seal();
    ASSERT_TRUE(read_run(path()).ok());
  }
}

TEST_F(ChecksumTest, ASingleCounterOfManyIsNoticed) {
  finish();
  ASSERT_TRUE(change("UPDATE counters SET casts = 2000 WHERE casts = 1").ok());
  seal();
  ASSERT_TRUE(read_run(path()).ok());
  ASSERT_TRUE(change("UPDATE counters SET casts = 1 WHERE casts = 2000").ok());
  EXPECT_THAT(trouble_with(path()), HasSubstr("its checksum is not that of its contents"));
}

TEST_F(ChecksumTest, AFinishedFileWithoutAChecksumIsDamaged) {
  for (const char* missing : {"LIKE 'checksum%'", "= 'checksum'", "= 'checksum_shown'", "= 'checksum_events'"}) {
    finish();
    ASSERT_TRUE(change((std::string("DELETE FROM run WHERE key ") + missing).c_str()).ok());
    EXPECT_THAT(trouble_with(path()), HasSubstr("it was finished, and the checksum that it was given then is gone"))
        << missing;
    const auto data = read_as_it_is(path());
    ASSERT_TRUE(data.ok() && data->damage) << missing;
    EXPECT_FALSE(RunStore::resume(path()).ok()) << "it would get a new checksum: " << missing;
  }
  finish();
  ASSERT_TRUE(change("DELETE FROM run WHERE key LIKE 'checksum%' OR key LIKE 'end%' OR key = 'exit_code'").ok());
  EXPECT_TRUE(read_run(path()).ok()) << "this is how a killed writer leaves a file";
}

TEST_F(ChecksumTest, AChecksumThatIsNoneOrThatOfAnotherPartIsDamage) {
  for (const char* change_to :
       {"NULL", "''", "'0'", "7", "upper(value) || ' '", "x'00'",
        "(SELECT value FROM run AS other WHERE other.key LIKE 'checksum%' AND other.key <> run.key)"})
    for (const char* of : {"checksum", "checksum_shown", "checksum_events"}) {
      finish();
      const std::string sql = std::string("UPDATE run SET value = ") + change_to + " WHERE key = '" + of + "'";
      ASSERT_TRUE(change(sql.c_str()).ok()) << sql;
      EXPECT_THAT(trouble_with(path()), HasSubstr("was changed or damaged after it was written")) << sql;
    }
  finish();
  ASSERT_TRUE(change("INSERT INTO run VALUES ('checksum_of_nothing', 'x')").ok());
  EXPECT_THAT(trouble_with(path()), HasSubstr("its checksum is not that of its contents"));
}

TEST_F(ChecksumTest, EventsThatAreMissingOrOthersAreNoticedAndLeaveTheEvidenceWhole) {
  for (const char* sql :
       {"DELETE FROM event_blocks", "UPDATE event_blocks SET event_count = event_count + 1",
        "UPDATE event_blocks SET packed_events = NULL", "UPDATE event_blocks SET packed_events = x'0400'",
        "UPDATE event_blocks SET packed_events = x'0401020304' || substr(packed_events, 6)",
        "INSERT INTO event_blocks SELECT id + 1, process, lane, block_number + 1, kept_window, first_in_process_ns, "
        "last_in_process_ns, first_step, last_step, event_count, packed_events FROM event_blocks"}) {
    finish();
    ASSERT_TRUE(change(sql).ok()) << sql;
    EXPECT_THAT(trouble_with(path()), HasSubstr("its events are not those that it had")) << sql;
    const auto data = read_as_it_is(path());
    ASSERT_TRUE(data.ok() && data->damage) << sql;
    EXPECT_FALSE(data->damage->evidence) << sql;
    EXPECT_THAT(data->damage->sentence, HasSubstr("what was counted is all there")) << sql;
  }
}

// A writer may be killed at any moment: a copy is what it leaves.
TEST_F(ChecksumTest, AtNoMomentDoesAFileTellAnEndWithoutRightChecksums) {
  const auto killed_here = [&](bool ended, const char* when) {
    for (const char* log : {"", "-wal"})
      if (std::filesystem::exists(path() + log))
        std::filesystem::copy_file(path() + log, path("copy") + log, std::filesystem::copy_options::overwrite_existing);
    const auto data = read_run(path("copy"));
    ASSERT_TRUE(data.ok()) << when << ": " << data.status();
    EXPECT_EQ(data->end.has_value(), ended) << when;
    for (const char* log : {"", "-wal", "-shm"}) std::filesystem::remove(path("copy") + log);
  };
  auto store = create();
  TestRun run(*store);
  run.cast(run.weight("train.py", 8, "fc"), kTensor).flush();
  killed_here(false, "while it runs");
  run.end();
  const RunEnd end{.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true};
  ASSERT_TRUE(store->finish(end).ok());
  ASSERT_TRUE(store->read().ok());
  killed_here(true, "at its end");
  ASSERT_TRUE(store->set_findings({}).ok());
  ASSERT_TRUE(store->git_dirty(true).ok());
  ASSERT_TRUE(store->commit().ok());
  killed_here(true, "with its findings");
  ASSERT_TRUE(store->close().ok());
  killed_here(true, "closed");
  store = *RunStore::resume(path());
  killed_here(true, "opened again");
  ASSERT_TRUE(store->git_dirty(false).ok());
  ASSERT_TRUE(store->commit().ok());
  killed_here(true, "with something that is no news");
  ASSERT_TRUE(store->notice("goes on").ok());
  ASSERT_TRUE(store->commit().ok());
  killed_here(false, "with news");
  ASSERT_TRUE(store->close().ok());
  killed_here(false, "closed before its end");
  store = *RunStore::resume(path());
  killed_here(false, "opened for the second time");
  ASSERT_TRUE(store->finish(end).ok());
  ASSERT_TRUE(store->close_elsewhere(path("elsewhere")).ok());
  EXPECT_TRUE(read_run(path("elsewhere"))->end);
}

TEST_F(ChecksumTest, TheFormatIsPartOfTheChecksum) {
  finish();
  ASSERT_TRUE(change("PRAGMA user_version = 19").ok());
  EXPECT_THAT(trouble_with(path()), HasSubstr("its checksum is not that of its contents"));
}

TEST_F(ChecksumTest, AnEmptyTextHidesNothingThatComesBeforeIt) {
  finish();
  for (const char* last : {"UPDATE attributes SET value = ''", "INSERT INTO kernel_names VALUES (9, '')",
                           "UPDATE modules SET module = ''"})
    ASSERT_TRUE(change(last).ok()) << last;
  seal();
  ASSERT_TRUE(read_run(path()).ok());
  ASSERT_TRUE(change("UPDATE run SET value = 5 WHERE key = 'start_epoch_ns'").ok());
  EXPECT_THAT(std::string(read_run(path()).status().message()), HasSubstr("its checksum is not that"));
}

TEST_F(ChecksumTest, AFileOfFormat19IsReadAndWrittenOnAsOneOfToday) {
  const auto make_older = [&] {
    finish();
    ASSERT_TRUE(change("PRAGMA user_version = 19; DELETE FROM run WHERE key = 'checksum_events'").ok());
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    for (const Part part : {Part::kEvidence, Part::kShown}) ASSERT_TRUE(write_checksum(*database, part).ok());
    ASSERT_TRUE(database->close().ok());
  };
  for (const bool has_news : {false, true}) {
    make_older();
    EXPECT_TRUE(read().weakly_checked);
    auto store = RunStore::resume(path());
    ASSERT_TRUE(store.ok()) << store.status();
    if (has_news) ASSERT_TRUE((*store)->notice("goes on").ok());
    ASSERT_TRUE((*store)->close().ok());
    const RunData data = read();
    EXPECT_FALSE(data.weakly_checked);
    EXPECT_EQ(data.end.has_value(), !has_news);
    ASSERT_TRUE(change("DELETE FROM event_blocks").ok());
    EXPECT_THAT(trouble_with(path()), HasSubstr("its events are not those that it had"));
  }
  make_older();
  ASSERT_TRUE(change("UPDATE counters SET casts = casts + 4").ok());
  EXPECT_FALSE(RunStore::resume(path()).ok()) << "it is checked as it was";
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
