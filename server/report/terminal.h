// The summary that a person reads in ten seconds.
#pragma once

#include <string>

#include "server/store/run_data.h"

namespace castscope::report {

struct TerminalOptions {
  int width = 80;
  bool colour = false;
  std::string run_file;     // said at the end; "" = not said
  std::string report_file;  // NAME.json; "" = not said
};

std::string summary(const store::RunData&, const TerminalOptions&);  // several lines, newline at the end

}  // namespace castscope::report
