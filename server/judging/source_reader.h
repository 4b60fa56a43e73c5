// Reads the source lines that a run's findings, sites and regions name, while the files are still those that ran.
#pragma once

#include <span>

#include "server/rules/evidence/finding.h"
#include "server/store/run/run_data.h"

namespace castscope::judging {

struct SourceLimits {
  std::size_t file_bytes = 2 << 20;   // a larger file is no source that somebody reads
  std::size_t total_bytes = 4 << 20;  // of text kept; findings come first
  std::size_t line_bytes = 400;       // longer lines are cut
  int context = 3;                    // lines before and after a finding's
};

// Only on the machine and with the rights of the job: what is named here is read from the disk. Files that were written
// to after the run began are told (SourceState) and not kept.
store::SourceLines read_source(const store::RunData&, std::span<const rules::Finding>, const SourceLimits& = {});

// All lines of one file, with the same care; kTooLarge, kGone, … where they are not shown.
store::SourceFile read_whole(const store::RunData&, const std::string& file, const SourceLimits& = {});

}  // namespace castscope::judging
