// A run file whose tables are castscope's, and whose rows are not: the input says which cells are changed into what,
// and which rows are missing. SQLite takes any value in any column.
#include <filesystem>
#include <string>
#include <vector>

#include "proto/event_block.h"
#include "server/store/file/sqlite.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/every_reader.h"
#include "tests/fuzz/fuzzer.h"
#include "tests/fuzz/sample_file.h"
#include "tests/fuzz/scratch.h"

namespace castscope::fuzz {
namespace {

constexpr int kMostChanges = 12;

struct FileTable {
  std::string name;
  std::vector<std::string> columns;
};

std::vector<FileTable> tables_of(const store::Database& database) {
  std::vector<FileTable> tables;
  const absl::Status status =
      each(database,
           "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' "
           "ORDER BY m.name, c.cid",
           [&](const store::Statement& row) {
             if (tables.empty() || tables.back().name != row.text(0)) tables.push_back({row.text(0), {}});
             tables.back().columns.push_back(row.text(1));
           });
  CASTSCOPE_PROMISE(status.ok() && !tables.empty(), "a run file has tables");
  return tables;
}

class RowChanges {
 public:
  explicit RowChanges(store::Database& database) : database_(database), tables_(tables_of(database)) {}

  void change(Bytes& bytes) {
    const FileTable& table = tables_[bytes.byte() % tables_.size()];
    const std::string& column = table.columns[bytes.byte() % table.columns.size()];
    const std::uint8_t row = bytes.byte(), what = bytes.byte();
    const std::string where = " WHERE rowid IN (SELECT rowid FROM " + table.name + " LIMIT 1 OFFSET " +
                              std::to_string(row == 0xff ? 0 : row % 32) + ")";
    const std::string set = "UPDATE " + table.name + " SET " + column + " = ?1" + where;
    switch (what % 8) {
      case 0:
        return run(set, static_cast<std::int64_t>(bytes.take<std::uint64_t>()));
      case 1:
        return run(set, std::int64_t{bytes.byte()});
      case 2:
        return run(set, long_text(bytes));
      case 3:
        return run(set, bytes.text());
      case 4:
        return run(set, store::Blob{bytes.some(bytes.byte())});
      case 5:
        return run("DELETE FROM " + table.name + where);
      case 6:
        return change_events(bytes, row);
      default:
        return run(set, nullptr);
    }
  }

 private:
  // A text of up to a megabyte.
  static std::string long_text(Bytes& bytes) {
    const std::string part(bytes.some(bytes.byte() % 8));
    std::string text;
    for (std::uint32_t times = bytes.take<std::uint16_t>() * 2; times > 0; --times) text += part;
    return text;
  }
  // Bytes of a kept block, whose checksum is right again.
  void change_events(Bytes& bytes, std::uint8_t row) {
    auto blocks = store::Statement::prepare(database_, "SELECT id, packed_events FROM event_blocks");
    for (int i = row % 4; blocks.ok() && i >= 0; --i) (void)blocks->next();
    if (!blocks.ok()) return;
    std::string packed(blocks->blob(1));
    const std::int64_t id = blocks->number(0);
    if (packed.size() < wire::kBodyBegin) return;
    for (std::uint32_t i = bytes.up_to(4); i > 0; --i)
      packed[bytes.up_to(static_cast<std::uint32_t>(packed.size() - 1))] = static_cast<char>(bytes.byte());
    wire::seal(packed);
    blocks = store::Statement();
    run("UPDATE event_blocks SET packed_events = ?1 WHERE id = ?2", store::Blob{packed}, id);
  }
  // A change that the table does not allow is none.
  template <typename... T>
  void run(const std::string& sql, const T&... values) {
    auto statement = store::Statement::prepare(database_, sql);
    if (statement.ok()) statement->run(values...).IgnoreError();
  }

  store::Database& database_;
  const std::vector<FileTable> tables_;
};

}  // namespace

CASTSCOPE_FUZZER(run_rows, 150, 2048) {
  Bytes bytes(input);
  const std::string path = scratch_file("rows.castscope", unfinished_sample_file());
  for (const char* const end : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path + end);
  auto database = store::Database::open(path, SQLITE_OPEN_READWRITE);
  const bool begun = database.ok() && database->exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN").ok();
  CASTSCOPE_PROMISE(begun, "a fuzzer can change a run file");
  Bytes choices(bytes.some(2));
  RowChanges changes(*database);
  for (int i = 0; i < kMostChanges && !bytes.empty(); ++i) changes.change(bytes);
  CASTSCOPE_PROMISE(database->exec("COMMIT").ok() && database->close().ok(), "a fuzzer can change a run file");
  read_in_one_way(path, choices);
}

}  // namespace castscope::fuzz
