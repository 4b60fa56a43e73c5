#include "server/store/file/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/store/file/run_file.h"
#include "server/store/testing/run_folder.h"
#include "server/store/write/run_store.h"

namespace castscope::store {
namespace {

// Somebody gives back memory: a run is not refused for good.
TEST(Sqlite, WantOfMemoryPasses) {
  Database database = Database::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value();
  const sqlite3_int64 before = sqlite3_hard_heap_limit64(sqlite3_memory_used() + (64 << 10));
  const absl::Status status = database.exec("SELECT zeroblob(1000000)");
  sqlite3_hard_heap_limit64(before);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("there is not enough memory"));
  EXPECT_TRUE(database.exec("SELECT zeroblob(1000000)").ok());
}

TEST(Sqlite, NothingIsBoundAsNull) {
  const Database database = Database::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value();
  Statement statement = Statement::prepare(database, "SELECT ?1").value();
  statement.bind_all(nullptr);
  ASSERT_TRUE(statement.next().value());
  EXPECT_TRUE(statement.is_null(0));
}

// Whoever may write to a folder could have a reader, or a collector, write to another file of its user.
TEST(Sqlite, LinksBesideAFileAreRefusedInASentence) {
  const RunFolder folder;
  const std::string file = folder / "run.castscope", precious = folder / "precious";
  ASSERT_TRUE(folder.begin_run()->close().ok());
  std::ofstream(precious) << "somebody's";
  for (const std::string& beside : {file + "-wal", file + "-shm", file + "-journal"}) {
    for (const char* const to : {precious.c_str(), "nothing"}) {
      std::filesystem::create_symlink(to, beside);
      for (const auto& refused :
           {open_to_read(file).status(), open_run_file(file).status(), open_run_file(file, true).status(),
            open_as_it_is(file).status(), RunStore::resume(file, {}).status()})
        EXPECT_EQ(refused, absl::PermissionDeniedError(
                               file + ": " + beside +
                               " is a link, and is not followed: somebody may have put it there; remove it"));
      std::filesystem::remove(beside);
    }
  }
  EXPECT_EQ(std::filesystem::file_size(precious), 10u);
  EXPECT_TRUE(open_to_read(file).ok());
}

TEST(Sqlite, AFileMayBeALinkItself) {
  const RunFolder folder;
  ASSERT_TRUE(folder.begin_run()->close().ok());
  std::filesystem::create_symlink("run.castscope", folder / "last.castscope");
  EXPECT_TRUE(open_to_read(folder / "last.castscope").ok());
  std::filesystem::create_symlink("nothing", folder / "run.castscope-wal");
  EXPECT_THAT(std::string(open_to_read(folder / "last.castscope").status().message()),
              testing::HasSubstr("run.castscope-wal is a link"));
}

}  // namespace
}  // namespace castscope::store
