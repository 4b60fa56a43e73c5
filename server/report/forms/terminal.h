// The summary that a person reads in ten seconds: a verdict, what is worth mending, the costliest casts, totals, the
// files.
#pragma once

#include <string>

#include "server/report/model/model.h"

namespace castscope::report {

struct TerminalOptions {
  int width = 80;
  bool colour = false;
  bool full = false;           // all findings with their fixes, and all that is known in brief
  std::string run_file{};      // named at the end; "" = not named
  std::string report_file{};   // NAME.json; "" = not named
  std::string run_argument{};  // the run file as one writes it on a command line here
};

// The most lines of a summary that is not full, of a run with up to five findings of which nothing is missing.
inline constexpr std::size_t kSummaryLines = 25;

std::string summary(const Model&, const TerminalOptions&);           // several lines, newline at the end
std::string summary(const store::RunData&, const TerminalOptions&);  // judged by the rules' defaults

}  // namespace castscope::report
