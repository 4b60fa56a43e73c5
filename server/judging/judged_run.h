// A run at one moment, with what the rules say of it. Whatever is told of a run is told from one of these: the run
// file's findings, the report, the summary, a gate, the viewer, the lines of live findings.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/rules/judgement.h"
#include "server/store/run/run_data.h"

namespace castscope::judging {

struct JudgedRun {
  store::RunData data;
  rules::Judgement judgement;
};
// Shared between threads: nobody changes it.
using JudgedRunPtr = std::shared_ptr<const JudgedRun>;

// Where the lines of code come from whose comments may silence a finding.
enum class Lines {
  kAsKept,    // from the run file
  kFromDisk,  // only on the job's own machine: a run that came over the network names files of another one, or whatever
              // its sender likes
};

JudgedRunPtr judged(store::RunData, const rules::Settings&, Lines = Lines::kAsKept);

// Of a run file, finished or not. Of one that is damaged or cut short: what can be read, as store::read_as_it_is().
absl::StatusOr<JudgedRunPtr> read_and_judge(const std::string& run_file, const rules::Settings&);

}  // namespace castscope::judging
