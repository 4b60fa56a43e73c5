// Writes what a run file says of the run as a whole: the table `run`, which read/run_heading.h reads, and its
// sentences.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"
#include "server/store/run/sentence_room.h"

namespace castscope::store {

class RunKeys {
 public:
  absl::Status prepare(Database& database);
  absl::Status set(std::string_view key, const auto& value) { return put_.run(key, value); }
  absl::Status start(const RunStart&, bool keep_all);
  absl::Status end(const RunEnd&);
  absl::Status take_end_back();
  // The same again is written once. Where there is no room for more, a last one says so.
  absl::Status notice(const std::string& sentence);
  absl::Status incomplete(IncompleteReason, const std::string& process, const std::string& sentence);
  void let_go();  // before the database is closed

 private:
  Statement put_, erase_end_, add_notice_, add_incomplete_;
  SentenceRoom notices_{"there were more notices, and a run file has no room for them"};
  SentenceRoom missing_{"more is missing, and a run file has no room to say what"};
};

}  // namespace castscope::store
