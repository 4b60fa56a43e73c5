// Files that are not what they should be.
#include "server/store/run_reader.h"

#include "server/store/run_store_test.h"

namespace castscope::store {
namespace {

using RunReaderTest = RunStoreTest;

TEST_F(RunReaderTest, ForeignFilesAreRefusedInWords) {
  EXPECT_THAT(trouble_with(path("missing")), HasSubstr("No such file"));
  EXPECT_THAT(trouble_with(folder_.string()), HasSubstr("folder"));
  write(path("empty"), "");
  EXPECT_THAT(trouble_with(path("empty")), HasSubstr("empty"));
  write(path("text"), std::string(5000, 'x'));
  EXPECT_THAT(trouble_with(path("text")), HasSubstr("not a castscope run file"));
  auto database = Database::open(path("other"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  ASSERT_TRUE(database->exec("CREATE TABLE t (x)").ok());
  EXPECT_THAT(trouble_with(path("other")), HasSubstr("not one of castscope's"));
}

TEST_F(RunReaderTest, ATruncatedFileIsASentenceWhereverItWasCut) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.cast(weight, kTensor);
  run.end();
  ASSERT_TRUE(store->close().ok());
  const std::uint64_t size = std::filesystem::file_size(path());
  for (std::uint64_t left : {std::uint64_t{20}, std::uint64_t{99}, std::uint64_t{100}, size / 2, size - 1}) {
    std::filesystem::copy_file(path(), path("cut"), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path("cut"), left);
    EXPECT_THAT(trouble_with(path("cut")), HasSubstr("cut short")) << left;
  }
}

TEST_F(RunReaderTest, ANewerFormatIsRefused) {
  auto store = create();
  ASSERT_TRUE(store->close().ok());
  ASSERT_TRUE(Database::open(path(), SQLITE_OPEN_READWRITE)->exec("PRAGMA user_version = 2").ok());
  EXPECT_THAT(trouble_with(path()), HasSubstr("has format 2, this castscope reads 1"));
}

TEST_F(RunReaderTest, RowsThatDoNotFitTogetherAreDamage) {
  for (const char* damage :
       {"UPDATE sites SET stack = 99", "UPDATE sites SET id = 77", "UPDATE counters SET process = 9",
        "UPDATE regions SET parent = id", "DELETE FROM stacks", "UPDATE processes SET id = 3"}) {
    auto store = create({.overwrite = true});
    TestRun run(*store);
    run.region("train.py", 5);
    run.cast(run.weight("train.py", 10, "fc"), kTensor);
    run.end();
    ASSERT_TRUE(store->close().ok());
    ASSERT_TRUE(Database::open(path(), SQLITE_OPEN_READWRITE)->exec(damage).ok()) << damage;
    EXPECT_THAT(trouble_with(path()), HasSubstr("damaged")) << damage;
  }
}

}  // namespace
}  // namespace castscope::store
