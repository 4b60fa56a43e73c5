#pragma once

#include <string>

#include "server/judging/judged_run.h"

namespace castscope::cli {

struct SummaryFiles {
  std::string run_file, report_file;  // named at its end; "" = not named
};

// "brief" fits on a screen, "full" has everything.
inline constexpr const char* kBriefSummary = "brief";
inline constexpr const char* kFullSummary = "full";

// Prints to stderr, fitted to the width of its terminal.
void print_summary(const judging::JudgedRun& run, const SummaryFiles& files, const std::string& form = kBriefSummary);

// The width of the terminal that this file is open on; 80 where it is none.
int terminal_width(int file);

}  // namespace castscope::cli
