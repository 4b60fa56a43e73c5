// Writes the table `run` of a run file, whose rows say what is known of the run as a whole. read/run_heading.h reads
// it.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

class RunKeys {
 public:
  absl::Status prepare(Database& database);
  absl::Status set(std::string_view key, const auto& value) { return put_.run(key, value); }
  absl::Status start(const RunStart&, bool keep_all);
  absl::Status end(const RunEnd&);
  absl::Status take_end_back();
  void let_go();  // before the database is closed

 private:
  Statement put_, erase_end_;
};

}  // namespace castscope::store
