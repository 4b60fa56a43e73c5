// A run at one moment, with what the rules say about it. Everything that is reported about a run comes from one of
// these: the run file's findings, the report, the summary, a gate, the viewer, and the lines of live findings.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/judging/source_reader.h"
#include "server/rules/judgement.h"
#include "server/store/run/run_data.h"

namespace castscope::judging {

struct JudgedRun {
  store::RunData data;
  rules::Judgement judgement;
};
// Shared between threads, so nobody changes it.
using JudgedRunPtr = std::shared_ptr<const JudgedRun>;

// The source of the lines of code whose comments may silence a finding.
enum class Lines {
  kAsKept,    // from the run file
  kFromDisk,  // only on the job's own machine: a run that came over the network names files of another one, or whatever
              // its sender likes
};

// `shown`: what is shown of a line from the disk.
JudgedRunPtr judged(store::RunData, const rules::Settings&, Lines = Lines::kAsKept,
                    const ShownLine& shown = without_secrets);

// Reads a run file, finished or not. From a file that is damaged or cut short it takes what can be read, as
// store::read_as_it_is() does.
absl::StatusOr<JudgedRunPtr> read_and_judge(const std::string& run_file, const rules::Settings&);

}  // namespace castscope::judging
