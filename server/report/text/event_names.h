// The names that the events of a run, its lanes and its processes have in timelines.
#pragma once

#include <cstdint>
#include <string>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// "linear weight, float32 to bfloat16"
std::string span_name(const store::RunData&, const store::Site&);
// "autocast cpu bfloat16", "autocast cpu off"
std::string span_name(const store::Region&);
// "step 12", "cache clear", "cache hit".
std::string instant_name(const lanes::Event&);
// "python, lane 1"
std::string lane_name(const store::Process&, std::uint32_t lane);
// "rank 0, pid 100 on host"
std::string process_name(const store::Process&);

}  // namespace castscope::report
