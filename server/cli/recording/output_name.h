// Chooses the names of the run file and its report. docs/decisions/output-names.md has the reasons.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/recording/output_claim.h"

namespace castscope::cli {

struct Output {
  std::string stem;  // path without suffix
  std::string run_file() const { return stem + ".castscope"; }
  std::string report_file() const { return stem + ".json"; }
};

// "train" for `python -u train.py --lr 3`, "trainer" for `torchrun -m pkg.trainer`; otherwise the program's name.
std::string telling_name(const std::vector<std::string>& command);

// Returns the user's -o without the suffixes of castscope's own files: "run" for "run.json", "a.deep" for "a.deep".
std::string without_suffix(const std::string& wish);

// Returns the user's -o as one of several ranks uses it, which all are given the same: "run-rank3" for "run.json".
// `rank` is "rank3", or "". A folder stays, and so does "".
std::string named_for_rank(const std::string& wish, const std::string& rank);

// `wish` is the user's -o ("" = none), `when` is a part of default names ("20261121-110700"). If the file exists, or
// another castscope is writing it, this is an error when the user chose the name; when castscope chose it, another name
// is taken ("-2", "-3", …). Without a working directory there may be no place. Nobody overwrites a file that is being
// written. A name that is too long for a file is shortened. `claim` reserves the name.
absl::StatusOr<Output> choose_output(const std::string& wish, const std::vector<std::string>& command,
                                     const std::string& when, bool force, OutputClaim& claim);

// Checks whether both files can be written there; the error is a sentence.
absl::Status check_writable(const Output& output);

// For a run that cannot be written where the user wished: the folder for temporary files.
Output fallback_output(const std::vector<std::string>& command, const std::string& when, OutputClaim& claim);

// "20261121-110700", with the rank before it where there is one: "rank3-20261121-110700".
std::string time_for_names(const std::string& rank = "");

}  // namespace castscope::cli
