// Lays out a new run file: its tables and views, the words that stand for the numbers in them, and the run's beginning.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

// Makes an empty file, and fails if there is one, unless it is to be overwritten.
absl::Status make_new_file(const std::string& path, bool overwrite);
// Waits until the disk has the file, and its name in the folder.
absl::Status sync_new_file(const std::string& path);
// Deletes it, and what SQLite keeps beside it.
void remove_run_file(const std::string& path);

// The file must be empty. All of it is one transaction, and before SQLite keeps a log beside the file: whoever finds
// the file finds nothing in it, or which run it is, whatever became of the log. It does not wait for the disk: until
// sync_new_file() a power cut may leave an empty file behind.
absl::Status lay_out_new_file(Database&, const RunStart& start, bool keep_all);

// Makes a file of the present format of one of an earlier format that is still read, before it is written on.
absl::Status bring_to_present_format(Database&);

}  // namespace castscope::store
