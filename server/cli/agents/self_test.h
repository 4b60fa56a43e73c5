// The self-test of an agent: a small job whose casts are known. It runs under `castscope run`, as any job, and what the
// report then says is compared with what must be there.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace castscope::cli {

// The job, a script for Python, which needs PyTorch and nothing else. It runs on the CPU.
std::string self_test_script();

// Returns what the report (a report's JSON) says otherwise than it must; "" = nothing.
std::string difference_in(const std::string& report);

// Runs the job with this Python, and with the agent that lies in this folder. Returns difference_in() of its report. An
// error says why the test could not be made.
absl::StatusOr<std::string> self_test(const std::string& python, const std::string& agent_folder);

}  // namespace castscope::cli
