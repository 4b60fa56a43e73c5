#include "server/web/runs/file_heading.h"

#include <sys/resource.h>

#include <chrono>
#include <functional>

#include "server/store/testing/run_store_test.h"

namespace castscope::web {
namespace {

class FileHeadingTest : public store::RunStoreTest {
 protected:
  void record(int exit_status) {
    auto store = create();
    store::TestRun run(*store);
    run.end();
    (void)store->finish({.end_ns = 1, .exit_status = exit_status, .signal = {}, .complete = true});
    EXPECT_TRUE(store->close().ok());
    age(1);
  }
  // The file counts as changed so many hours ago.
  void age(int hours, const std::string& suffix = "") {
    std::filesystem::last_write_time(path() + suffix, now_ - std::chrono::hours(hours));
  }
  // Something is changed in place, and the file has the time that it had.
  void change_unseen(const char* sql) {
    const auto before = std::filesystem::last_write_time(path());
    auto database = store::Database::open(path(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database.ok() && database->exec(sql).ok());
    ASSERT_TRUE(database->close().ok());
    std::filesystem::last_write_time(path(), before);
  }
  // It is read when so many hours are over.
  FileHeading of_file(int hours_later = 1) {
    return {path(), [this](const std::string& file) { return ++reads_, store::read_heading(file); },
            [hours_later] { return FileHeading::realtime_ns() + hours_later * 3'600'000'000'000; }};
  }
  static int exit_status(const FileHeading& heading) {
    const auto told = heading.summary(heading.look());
    return told.ok() && told->end ? told->end->exit_status.value_or(-1) : -1;
  }

  static void without_descriptors(const std::function<void()>& work) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    work();
    setrlimit(RLIMIT_NOFILE, &before);
  }

  int reads_ = 0;
  const std::filesystem::file_time_type now_ = std::filesystem::file_time_type::clock::now();
};

constexpr char kOtherEnd[] = "UPDATE run SET value = 4 WHERE key = 'exit_code'";

TEST_F(FileHeadingTest, AFileThatDidNotChangeIsNotReadAgain) {
  record(3);
  const FileHeading heading = of_file();
  EXPECT_EQ(exit_status(heading), 3);
  EXPECT_EQ(heading.counts()->findings.size(), 0u);
  EXPECT_EQ(exit_status(heading), 3);
  without_descriptors([&] { EXPECT_TRUE(heading.counts().ok()) << "it is read again"; });
  EXPECT_EQ(reads_, 1);
}

TEST_F(FileHeadingTest, WhoeverPutsAFilesTimeBackDoesNotHideItsChange) {
  record(3);
  const FileHeading heading = of_file();
  EXPECT_EQ(exit_status(heading), 3);
  EXPECT_EQ(heading.counts()->findings.size(), 0u);
  change_unseen(kOtherEnd);
  change_unseen("INSERT INTO findings (severity) VALUES ('warning')");
  EXPECT_EQ(exit_status(heading), 4);
  EXPECT_EQ(heading.counts()->findings.size(), 1u);
}

TEST_F(FileHeadingTest, AFileThatChangedAMomentAgoIsReadAgain) {
  record(3);
  const FileHeading heading = of_file(0);
  EXPECT_EQ(exit_status(heading), 3);
  EXPECT_EQ(exit_status(heading), 3);
  EXPECT_EQ(reads_, 2);
}

TEST_F(FileHeadingTest, WhatStandsInTheLogIsReadToo) {
  record(3);
  const FileHeading heading = of_file();
  EXPECT_EQ(exit_status(heading), 3);
  auto database = store::Database::open(path(), SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok() && database->exec("PRAGMA journal_mode = WAL").ok());
  ASSERT_TRUE(database->exec("UPDATE run SET value = 5 WHERE key = 'exit_code'").ok());
  age(2), age(2, "-wal");
  EXPECT_EQ(exit_status(heading), 5);
  ASSERT_TRUE(database->exec(kOtherEnd).ok());
  age(2), age(1, "-wal");
  EXPECT_EQ(exit_status(heading), 4);
}

TEST_F(FileHeadingTest, AnotherFileOfThatNameIsNotTheOneThatWasThere) {
  record(3);
  const FileHeading heading = of_file();
  EXPECT_TRUE(heading.look().still_there);
  std::filesystem::rename(path(), path("moved"));
  EXPECT_FALSE(heading.look().still_there);
  record(4);
  EXPECT_FALSE(heading.look().still_there);
  EXPECT_EQ(exit_status(heading), 4);
}

TEST_F(FileHeadingTest, AFileThatCannotBeReadForAWhileIsTriedAgain) {
  record(3);
  const FileHeading heading = of_file();
  without_descriptors([&] { EXPECT_FALSE(heading.summary(heading.look()).ok()); });
  EXPECT_EQ(exit_status(heading), 3);
}

}  // namespace
}  // namespace castscope::web
