#pragma once

#include "server/cli/output_name.h"
#include "server/rules/settings.h"
#include "server/store/run_data.h"

namespace castscope::cli {

// On stderr, fitted to the terminal there.
void print_summary(const store::RunData& data, const Output& output, const rules::Settings& settings = {});

// Of the terminal that this file is open on; 80 where it is none.
int terminal_width(int file);

}  // namespace castscope::cli
