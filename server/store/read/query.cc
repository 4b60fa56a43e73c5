#include "server/store/read/query.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/file/run_file.h"
#include "server/store/read/query_functions.h"

namespace castscope::store {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 4 << 20;  // of any text, blob or row that SQLite handles
constexpr int kInstructionsBetweenLooks = 1'000;
constexpr std::chrono::milliseconds kBetweenQuestions{20};

// Pragmas that only tell something. Those of the second list do so as long as they are given no value.
constexpr std::array<std::string_view, 9> kTell = {"table_info",       "table_xinfo",   "table_list",
                                                   "index_list",       "index_info",    "index_xinfo",
                                                   "foreign_key_list", "function_list", "collation_list"};
constexpr std::array<std::string_view, 6> kTellWithoutValue = {"application_id", "user_version", "page_count",
                                                               "page_size",      "encoding",     "schema_version"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view one) {
    return absl::EqualsIgnoreCase(absl::string_view(one.data(), one.size()),
                                  absl::string_view(name.data(), name.size()));
  });
}

// Watches over one query: what it may do, and how much.
class Guard {
 public:
  Guard(const Database& database, const QueryLimits& limits, const std::function<bool()>& cancelled)
      : database_(database), limits_(limits), cancelled_(cancelled) {
    sqlite3* const db = database.handle();
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostBytes);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);  // SQLite parses the schema with it, too
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    // SQLite does not ask whether to go on while it compares a text with a pattern, and that takes exponential time.
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, nullptr);
    sqlite3_set_authorizer(db, &Guard::may, this);
    sqlite3_progress_handler(db, kInstructionsBetweenLooks, &Guard::look, this);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    sqlite3_progress_handler(database_.handle(), 0, nullptr, nullptr);
    sqlite3_set_authorizer(database_.handle(), nullptr, nullptr);
  }

  // "" as long as the query may go on.
  const std::string& stopped() const { return stopped_; }
  bool refused() const { return refused_; }

 private:
  static bool only_reads(int action, const char* first, const char* second) {
    switch (action) {
      case SQLITE_SELECT:
      case SQLITE_READ:
      case SQLITE_RECURSIVE:
        return true;
      // SQLite asks this when it makes a table that is a function: json_each(…), pragma_table_info(…). Who asks for it
      // himself learns from SQLite that this table is not to be changed.
      case SQLITE_UPDATE:
        return first != nullptr && std::string_view(first) == "sqlite_master";
      case SQLITE_FUNCTION:
        return second != nullptr && may_be_called(second);
      case SQLITE_PRAGMA:
        return first != nullptr && (is_in(kTell, first) || (second == nullptr && is_in(kTellWithoutValue, first)));
      default:
        return false;
    }
  }
  static int may(void* self, int action, const char* first, const char* second, const char*, const char*) {
    if (only_reads(action, first, second)) return SQLITE_OK;
    static_cast<Guard*>(self)->refused_ = true;
    return SQLITE_DENY;
  }
  static int look(void* self) { return static_cast<Guard*>(self)->has_to_stop() ? 1 : 0; }
  bool has_to_stop() {
    const auto now = Clock::now();
    if (now - begin_ >= limits_.time) {
      stopped_ = absl::StrCat("stopped after ", static_cast<double>(limits_.time.count()) / 1000, " s");
    } else if (sqlite3_memory_used() - memory_before_ > limits_.memory_bytes) {
      stopped_ = absl::StrCat("stopped: it took more than ", limits_.memory_bytes >> 20, " MB of memory");
    } else if (now - asked_ >= kBetweenQuestions) {
      asked_ = now;
      if (cancelled_()) stopped_ = "cancelled";
    }
    return !stopped_.empty();
  }

  const Database& database_;
  const QueryLimits& limits_;
  const std::function<bool()>& cancelled_;
  const Clock::time_point begin_ = Clock::now();
  const std::int64_t memory_before_ = sqlite3_memory_used();  // of the whole process: a few MB more or less
  Clock::time_point asked_ = begin_;
  std::string stopped_;
  bool refused_ = false;
};

// " (line 2, column 8)" for a place in the SQL, counted in characters; "" where SQLite names none.
std::string place_words(std::string_view sql, int offset) {
  if (offset < 0 || static_cast<std::size_t>(offset) > sql.size()) return "";
  const std::string_view before = sql.substr(0, static_cast<std::size_t>(offset));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 = 0: the first line
  const auto characters = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return absl::StrCat(" (line ", lines + 1, ", column ", characters + 1, ")");
}

absl::Status sql_error(const Database& database, std::string_view sql, const Guard& guard, int code) {
  sqlite3* const db = database.handle();
  if (guard.refused())
    return absl::InvalidArgumentError(
        absl::StrCat("only SELECT and what else only reads is run here (SQLite says: ", sqlite3_errmsg(db), ")"));
  switch (code & 0xff) {
    case SQLITE_ERROR:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
      break;
    case SQLITE_NOMEM:
      return absl::InvalidArgumentError("the query takes more memory than there is");
    default:
      return database.error(code);
  }
  return absl::InvalidArgumentError(absl::StrCat(sqlite3_errmsg(db), place_words(sql, sqlite3_error_offset(db))));
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

// Takes exactly one statement; comments may follow it.
absl::StatusOr<Prepared> prepare_one(const Database& database, const std::string& sql, const Guard& guard) {
  const auto prepare = [&](const char*& at, Prepared& statement) {
    sqlite3_stmt* next = nullptr;
    const int code = sqlite3_prepare_v3(database.handle(), at, -1, 0, &next, &at);
    statement.reset(next);
    return code;
  };
  const char* rest = sql.c_str();
  Prepared statement, second;
  while (statement == nullptr && *rest != '\0') {
    if (const int code = prepare(rest, statement); code != SQLITE_OK) return sql_error(database, sql, guard, code);
  }
  if (statement == nullptr) return absl::InvalidArgumentError("there is no statement in it");
  while (*rest != '\0') {
    if (prepare(rest, second) != SQLITE_OK || second != nullptr)
      return absl::InvalidArgumentError("this is more than one statement: one at a time is run");
  }
  if (sqlite3_bind_parameter_count(statement.get()) > 0)
    return absl::InvalidArgumentError("parameters (?, :name) have no values here: write the values into the SQL");
  return statement;
}

// Cuts a text before a character that begins within the limit and ends beyond it.
std::string cut(std::string_view text, std::size_t most) {
  std::size_t end = most;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "x'";
  for (const char byte : bytes) {
    const auto b = static_cast<unsigned char>(byte);
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text + "'";
}

class Rows {
 public:
  Rows(const QueryLimits& limits, QueryResult& result) : limits_(limits), result_(result) {}

  void take(sqlite3_stmt* statement) {
    if (result_.rows.size() >= limits_.rows || bytes_ > limits_.result_bytes) {
      ++result_.left_out;
      return;
    }
    std::vector<Cell>& row = result_.rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(cell(statement, i));
  }

 private:
  Cell cell(sqlite3_stmt* statement, int column) {
    bytes_ += 8;
    switch (sqlite3_column_type(statement, column)) {
      case SQLITE_INTEGER:
        return sqlite3_column_int64(statement, column);
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement, column);
      case SQLITE_NULL:
        return {};
      case SQLITE_BLOB:
        return blob(statement, column);
      default:
        return text(statement, column);
    }
  }
  Cell blob(sqlite3_stmt* statement, int column) {
    const auto* const data = static_cast<const char*>(sqlite3_column_blob(statement, column));
    std::string_view bytes(data,
                           data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    const std::size_t most = limits_.cell_bytes / 2;
    if (bytes.size() > most) ++result_.cut_cells;
    bytes_ += 2 * std::min(bytes.size(), most);
    return hex_of(bytes.substr(0, most));
  }
  Cell text(sqlite3_stmt* statement, int column) {
    const auto* const data = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    std::string_view text(data,
                          data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    bytes_ += std::min(text.size(), limits_.cell_bytes);
    if (text.size() <= limits_.cell_bytes) return std::string(text);
    ++result_.cut_cells;
    return cut(text, limits_.cell_bytes);
  }

  const QueryLimits& limits_;
  QueryResult& result_;
  std::size_t bytes_ = 0;
};

// A file that is damaged is asked as far as it can be read.
absl::StatusOr<Database> open_for_query(const std::string& run_file) {
  auto database = open_to_read(run_file);
  if (absl::IsDataLoss(database.status())) database = open_as_it_is(run_file);
  if (!database.ok()) return database;
  // Nothing is put on the disk, where the guard would not see how much it is.
  CASTSCOPE_RETURN_IF_ERROR(database->exec("PRAGMA query_only = ON; PRAGMA temp_store = MEMORY"));
  return database;
}

}  // namespace

absl::StatusOr<QueryResult> query(const std::string& run_file, const std::string& sql, const QueryLimits& limits,
                                  const std::function<bool()>& cancelled) {
  if (sql.size() > kMostSqlBytes)
    return absl::InvalidArgumentError(absl::StrCat("the SQL is longer than ", kMostSqlBytes, " bytes"));
  if (sql.find('\0') != std::string::npos) return absl::InvalidArgumentError("the SQL has a zero byte in it");
  const auto database = open_for_query(run_file);
  if (!database.ok()) return database.status();
  CASTSCOPE_RETURN_IF_ERROR(make_linear(*database));
  const Guard guard(*database, limits, cancelled);
  auto statement = prepare_one(*database, sql, guard);
  if (!statement.ok()) return statement.status();
  QueryResult result;
  for (int i = 0; i < sqlite3_column_count(statement->get()); ++i)
    result.columns.emplace_back(sqlite3_column_name(statement->get(), i));
  Rows rows(limits, result);
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) rows.take(statement->get());
  if (code == SQLITE_DONE) return result;
  if (guard.stopped().empty()) return sql_error(*database, sql, guard, code);
  result.stopped = guard.stopped();
  return result;
}

}  // namespace castscope::store
