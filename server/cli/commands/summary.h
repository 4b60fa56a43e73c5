#pragma once

#include <string>

#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::cli {

struct SummaryFiles {
  std::string run_file, report_file;  // told at its end; "" = not told
};

// On stderr, fitted to the terminal there.
void print_summary(const store::RunData& data, const SummaryFiles& files, const rules::Settings& settings = {});

// Of the terminal that this file is open on; 80 where it is none.
int terminal_width(int file);

}  // namespace castscope::cli
