#include "server/store/file/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace castscope::store
