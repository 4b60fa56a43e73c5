// SQLite as the store uses it: a connection, prepared statements, errors as values whose text is a sentence that
// begins with the file's name. Nothing else of the server calls the C API.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace castscope::store {

#define CASTSCOPE_RETURN_IF_ERROR(expression)                   \
  if (absl::Status returned_ = (expression); !returned_.ok()) { \
    return returned_;                                           \
  }

struct Blob {
  std::string_view bytes;
};

// SQLite keeps what is not yet in the file in others beside it, and would not follow a link in the place of one of them
// (O_NOFOLLOW); its words for that, "unable to open database file", lead nobody to the reason.
absl::Status no_links_beside(const std::string& path);

class Database {
 public:
  // `uri`: what SQLite is given, where that is not the path.
  static absl::StatusOr<Database> open(const std::string& path, int flags, const std::string& uri = "");
  absl::Status exec(const char* sql);
  absl::Status close();
  bool has_moved() const;  // its path leads to another file now, or to none
  // Copies the first bytes of the file as they are; returns how many of `size` there are.
  std::size_t first_bytes(char* bytes, std::size_t size) const;
  // For a file that is damaged or cut short: each() ends where a table cannot be read on, and gives no error.
  void leave_out_unreadable() { left_out_ = std::make_unique<std::uint64_t>(0); }
  bool leaves_out_unreadable() const { return left_out_ != nullptr; }
  std::uint64_t left_out() const { return left_out_ ? *left_out_ : 0; }  // tables that were not read to their end
  void leave_out() const { ++*left_out_; }
  // Bounds what is done over this connection from now on, in instructions of SQLite's machine: a file of a stranger may
  // be made so that reading it never ends. Whatever goes beyond is an error of an invalid file.
  void limit_work(std::uint64_t instructions);
  // The last error as a sentence: what could not be done, why, what to do about it.
  absl::Status error(int code) const;
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<std::uint64_t> left_out_;
  std::unique_ptr<std::uint64_t> work_left_;
};

class Statement {
 public:
  Statement() = default;
  static absl::StatusOr<Statement> prepare(const Database&, std::string_view sql);

  // Binds all parameters in order, runs to the end and is ready for the next time.
  template <typename... T>
  absl::Status run(const T&... values) {
    bind_all(values...);
    return run_bound();
  }
  absl::Status run_bound() {
    const int code = sqlite3_step(statement_.get());
    sqlite3_reset(statement_.get());
    return code == SQLITE_DONE || code == SQLITE_ROW ? absl::OkStatus() : database_->error(code);
  }
  template <typename... T>
  void bind_all(const T&... values) {
    int index = 0;
    (bind(++index, values), ...);
  }
  // The next row: true, or the end: false (and the statement is ready for the next time).
  absl::StatusOr<bool> next();

  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  template <typename T>
  void get(int column, T& value) const {
    if constexpr (std::is_same_v<T, std::string>) {
      value = text(column);
    } else {
      value = static_cast<T>(sqlite3_column_int64(statement_.get(), column));
    }
  }
  // The row's columns, from the first on: numbers, flags, enumerators and texts.
  template <typename... T>
  void read(T&... values) const {
    read_from(0, values...);
  }
  template <typename... T>
  void read_from(int column, T&... values) const {
    (get(column++, values), ...);
  }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  std::string text(int column) const;
  std::string_view blob(int column) const;  // valid until the next next()
  sqlite3_stmt* handle() const { return statement_.get(); }
  bool is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

  // The parameter of this number, from 1 on. The value must live until the statement has run.
  template <typename T>
  void bind(int index, const T& value) {
    if constexpr (std::is_same_v<T, std::nullptr_t>) {  // which could be taken for a text, too
      sqlite3_bind_null(statement_.get(), index);
    } else if constexpr (std::is_same_v<T, Blob>) {
      sqlite3_bind_blob64(statement_.get(), index, value.bytes.data(), value.bytes.size(), SQLITE_STATIC);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      const std::string_view text = value;
      sqlite3_bind_text64(statement_.get(), index, text.data() ? text.data() : "", text.size(), SQLITE_STATIC,
                          SQLITE_UTF8);
    } else if constexpr (std::is_floating_point_v<T>) {
      sqlite3_bind_double(statement_.get(), index, value);
    } else {
      sqlite3_bind_int64(statement_.get(), index, static_cast<std::int64_t>(value));
    }
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  const Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Prepares each statement, `all` being pairs of where it goes and its text.
absl::Status prepare_all(const Database&, std::span<const std::pair<Statement*, const char*>> all);
// Calls `take` for each row; of a database that leaves out what is unreadable, for those that can be read.
absl::Status each(const Database&, const char* sql, const std::function<void(const Statement&)>& take);
// Rows that belong to nothing, of such a database: counted as a table that was not read to its end. Of another: an
// error that says `what`.
absl::Status none_lost(const Database&, std::size_t lost, const char* what);

}  // namespace castscope::store
