#pragma once

#include <string>

#include "server/judging/judged_run.h"

namespace castscope::cli {

struct SummaryFiles {
  std::string run_file, report_file;  // told at its end; "" = not told
};

// On stderr, fitted to the terminal there.
void print_summary(const judging::JudgedRun& run, const SummaryFiles& files);

// Of the terminal that this file is open on; 80 where it is none.
int terminal_width(int file);

}  // namespace castscope::cli
