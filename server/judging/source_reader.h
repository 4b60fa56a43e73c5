// Reads the source lines that a run's findings, sites and regions name, while the files are still those that ran.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "server/rules/evidence/finding.h"
#include "server/store/run/run_data.h"

namespace castscope::judging {

struct SourceLimits {
  std::size_t file_bytes = 2 << 20;   // nobody reads a larger source file
  std::size_t total_bytes = 4 << 20;  // of kept text; findings come first
  std::size_t line_bytes = 400;       // longer lines are cut
  int context = 3;                    // lines before and after a finding's
};
// What is shown of a line.
using ShownLine = std::function<std::string(std::string_view line)>;
// The line, without tokens of well-known forms (server/redaction).
std::string without_secrets(std::string_view line);

// Call this only on the machine and with the rights of the job: the files that the run names are read from the disk.
// Source files that were written to after the run began are marked (SourceState) and not kept.
// Nothing is read of a run whose source is withheld.
store::SourceLines read_source(const store::RunData&, std::span<const rules::Finding>, const SourceLimits& = {},
                               const ShownLine& shown = without_secrets);

// Reads all lines of one file, with the same care; the result is kTooLarge, kGone, … where they cannot be shown, and
// kGone where whole files are withheld, too.
store::SourceFile read_whole(const store::RunData&, const std::string& file, const SourceLimits& = {});

}  // namespace castscope::judging
