// Finds when a kernel was launched, and by which cast or operator: the link from a stream of a GPU to the thread.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::web {

struct Launch {
  std::int64_t at = 0;
  std::optional<timeline::FoundEvent> by;  // its cast, or else its operator, if the timeline still has it
};

// `kept` is the same kernel as it is in the file. Returns nothing where its launch was not recorded.
std::optional<Launch> launch_of(const timeline::Timeline&, const store::RunData&, const timeline::FoundEvent& kernel,
                                const lanes::Event& kept);

}  // namespace castscope::web
