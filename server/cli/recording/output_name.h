// Where the run file and its report go. docs/decisions/output-names.md has the reasons.
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

// "train" of `python -u train.py --lr 3`, "trainer" of `torchrun -m pkg.trainer`; else the program's name.
std::string telling_name(const std::vector<std::string>& command);

// `wish` is what the user gave with -o ("" = nothing), `when` stands in default names ("20261121-110700").
// A file that exists, or that another castscope is writing, is an error when the user named it, and avoided ("-2",
// "-3", …) when the name is ours. Without a working directory there may be no place. Nobody overwrites what is being
// written. `claim` holds the place.
absl::StatusOr<Output> choose_output(const std::string& wish, const std::vector<std::string>& command,
                                     const std::string& when, bool force, OutputClaim& claim);

// Whether both files can be written there; a sentence when not.
absl::Status check_writable(const Output& output);

// For a run that cannot be written where it was wished: the folder for temporary files.
Output fallback_output(const std::vector<std::string>& command, const std::string& when, OutputClaim& claim);

std::string local_time_for_names();

}  // namespace castscope::cli
