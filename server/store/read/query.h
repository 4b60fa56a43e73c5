// Runs SQL that a person wrote on a run file. It can read, and nothing else; it is stopped when it takes too much time
// or memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::store {

struct QueryLimits {
  std::chrono::milliseconds time{10'000};
  std::size_t rows = 10'000;              // those beyond are counted
  std::size_t cell_bytes = 10'000;        // a longer text or blob is cut
  std::size_t result_bytes = 32 << 20;    // rows beyond are counted
  std::int64_t memory_bytes = 256 << 20;  // of SQLite, while the query runs
};
inline constexpr std::size_t kMostSqlBytes = 8'000;

using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // a blob is told as SQL writes it: x'00ff'
  std::uint64_t left_out = 0;           // further rows; while `stopped` says something there may be more
  std::uint64_t cut_cells = 0;          // of `rows`
  std::string stopped;                  // why the query did not come to its end: "stopped after 10 s"; "" = it did
};

// `cancelled` is asked every few milliseconds. An error of the SQL itself is InvalidArgument: SQLite's own words, and
// where in the SQL it is.
absl::StatusOr<QueryResult> query(const std::string& run_file, const std::string& sql, const QueryLimits& limits,
                                  const std::function<bool()>& cancelled);

}  // namespace castscope::store
