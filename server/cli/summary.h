#pragma once

#include "server/cli/output_name.h"
#include "server/store/run_data.h"

namespace castscope::cli {

// On stderr, fitted to the terminal there.
void print_summary(const store::RunData& data, const Output& output);

}  // namespace castscope::cli
