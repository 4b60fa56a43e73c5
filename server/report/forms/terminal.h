// The summary that a person reads in ten seconds.
#pragma once

#include <string>

#include "server/report/model/model.h"

namespace castscope::report {

struct TerminalOptions {
  int width = 80;
  bool colour = false;
  std::string run_file{};     // named at the end; "" = not named
  std::string report_file{};  // NAME.json; "" = not named
};

std::string summary(const Model&, const TerminalOptions&);           // several lines, newline at the end
std::string summary(const store::RunData&, const TerminalOptions&);  // judged by the rules' defaults

}  // namespace castscope::report
