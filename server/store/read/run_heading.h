// Reads what a list of runs tells of one, without all of its file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

struct RunHeading {
  RunStart start;
  std::optional<RunEnd> end;
  std::uint64_t events = 0;        // handed over so far
  std::uint64_t acknowledged = 0;  // messages, of all relays together; of a collected run
  bool farewell = false;           // every relay has said that it is done
  bool whole = false;              // nothing shows that the file is damaged, as far as it was read for this
};
// `most_work`: the bound of a reading, in SQLite's instructions; a million lanes take four million.
absl::StatusOr<RunHeading> read_heading(const std::string& path, std::uint64_t most_work = 20'000'000);
// What reads a heading, for those who do not care whether the file is opened for it.
using ReadHeading = std::function<absl::StatusOr<RunHeading>(const std::string& path)>;

// What the file counts of a run. Findings are those that were judged when it ended, by severity.
struct RunCounts {
  std::uint64_t casts = 0, hits = 0;
  std::vector<std::pair<std::string, std::uint64_t>> findings;
};
absl::StatusOr<RunCounts> read_counts(const std::string& path, std::uint64_t most_work = 200'000'000);

absl::Status read_relays(const Database&, std::vector<RelayState>&);

// Takes one row of the table `run`, whose columns are `key` and `value`, into where it belongs. Other keys are left.
void put_row(const Statement& row, RunStart&, std::optional<RunEnd>&);

}  // namespace castscope::store
