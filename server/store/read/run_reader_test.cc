// Files that are not what they should be.
#include "server/store/read/run_reader.h"

#include <cctype>
#include <fstream>

#include "agent/hash/fnv1a.h"
#include "server/store/file/row_schema.h"
#include "server/store/file/schema.h"
#include "server/store/testing/run_store_test.h"

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

TEST_F(RunReaderTest, AnotherFormatIsRefusedAsWhatItIs) {
  auto store = create();
  ASSERT_TRUE(store->close().ok());
  const auto trouble_with_format = [&](int format) {
    const std::string sql = "PRAGMA user_version = " + std::to_string(format);
    EXPECT_TRUE(Database::open(path(), SQLITE_OPEN_READWRITE)->exec(sql.c_str()).ok());
    return trouble_with(path());
  };
  const std::string reads = ", this castscope reads " + std::to_string(kFormat) + "; read it with ";
  EXPECT_THAT(trouble_with_format(kFormat + 1),
              HasSubstr("has format " + std::to_string(kFormat + 1) + reads + "a newer castscope"));
  EXPECT_THAT(trouble_with_format(18), HasSubstr("has format 18" + reads + "the castscope that wrote it"));
}

// Somebody looks at the run, and goes on looking after its end.
TEST_F(RunReaderTest, AReaderThatStaysDoesNotHinderTheEnd) {
  auto store = create();
  TestRun run(*store);
  run.cast(run.weight("train.py", 10, "fc"), kTensor);
  run.flush();
  auto looking = Database::open(path(), SQLITE_OPEN_READONLY);
  auto looked = Statement::prepare(*looking, "SELECT count(*) FROM sites");
  ASSERT_TRUE(looked.ok() && *looked->next());
  ASSERT_TRUE(*looked->next() == false);
  run.end();
  const absl::Status closed = store->close();
  EXPECT_TRUE(closed.ok()) << closed.message();
  std::filesystem::copy_file(path(), path("copy"));  // alone: all is in it
  EXPECT_TRUE(read_run(path("copy"))->processes.front().ended);
}

// When this fails, the tables have changed: raise kFormat, and put the new number here.
TEST_F(RunReaderTest, TheTablesAreThoseOfTheFormatsNumber) {
  std::string tables = std::string(kTables) + kDeepTables + kGpuTables + row_tables();
  std::erase_if(tables, [](unsigned char c) { return std::isspace(c) != 0; });
  const std::uint64_t hash = castscope_fnv1a(CASTSCOPE_FNV1A_START, tables.data(), tables.size());
  EXPECT_EQ(kFormat, 20);
  EXPECT_EQ(hash, 4499574023699673503u);
}

TEST_F(RunReaderTest, RowsThatDoNotFitTogetherAreDamage) {
  for (const char* damage :
       {"UPDATE sites SET stack = 99", "UPDATE sites SET id = 77", "UPDATE counters SET process = 9",
        "UPDATE regions SET parent = id", "UPDATE sites SET forward_site = id", "DELETE FROM stacks",
        "UPDATE processes SET id = 3"}) {
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

// Rows are there, and their checksum is right: only who looks for one by the index does not find it.
TEST_F(RunReaderTest, ADamagedIndexIsDamageThatLeavesAllCountsThere) {
  auto store = create();
  TestRun run(*store);
  run.cast(run.weight("train.py", 10, "fc"), kTensor);
  run.end();
  ASSERT_TRUE(store->close().ok());
  ASSERT_FALSE(read_as_it_is(path())->damage);
  std::int64_t page = 0, page_bytes = 0;
  {
    auto database = Database::open(path(), SQLITE_OPEN_READONLY);
    auto found = Statement::prepare(*database,
                                    "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size() "
                                    "WHERE type = 'index' AND tbl_name = 'processes'");
    ASSERT_TRUE(found.ok() && *found->next());
    page = found->number(0), page_bytes = found->number(1);
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((page - 1) * page_bytes + 3);  // the number of entries of the page
  file.write("\0\0", 2);
  file.close();
  const auto read = read_as_it_is(path());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->damage);
  EXPECT_THAT(read->damage->sentence,
              testing::StartsWith("the index of the table processes is damaged: SQL may miss rows"));
  EXPECT_FALSE(read->damage->evidence);
  EXPECT_EQ(read->processes.size(), 1u);
}

}  // namespace
}  // namespace castscope::store
