// What remains to be done when the store of a run has got everything: findings, the closed run file, the report.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/cli/recording/output_name.h"
#include "server/judging/run_judge.h"
#include "server/store/write/run_store.h"

namespace castscope::cli {

struct Conclusion {
  judging::JudgedRunPtr run;  // never null
  Output output;
  std::string moved = {};      // a sentence if that is not the place where it was begun
  std::string no_report = {};  // a sentence if somebody else's file is in the report's place
};
// Does what remains when a store has got everything: reads the run, judges it, keeps the findings, closes the file, and
// writes the report beside it, unless somebody else's file is there by now. If the run file was moved or deleted
// meanwhile, it is written again, in another place if necessary.
absl::StatusOr<Conclusion> conclude(store::RunStore& store, const store::RunEnd& end, const Output& output,
                                    judging::Lines lines, const rules::Settings& settings = {},
                                    const judging::ShownLine& shown = judging::without_secrets);

// Deletes the report if it is an ordinary file; a device stays.
void forget_report(const Output& output);

// Returns true if a file is in the report's place that is no report of this run: it is somebody else's.
bool is_taken_by_another(const Output& output, const std::string& run_id);

absl::Status write_text_file(const std::string& path, const std::string& text);

}  // namespace castscope::cli
