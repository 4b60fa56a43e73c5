// When a kernel was launched, and by which cast or operator: the link from a stream of a GPU to the thread.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::web {

struct Launch {
  std::int64_t at = 0;
  std::optional<timeline::FoundEvent> by;  // what the timeline still holds of its cast, or its operator
};

// `kept`: the same kernel as the file has it. Nothing where nobody told when it was launched.
std::optional<Launch> launch_of(const timeline::Timeline&, const store::RunData&, const timeline::FoundEvent& kernel,
                                const lanes::Event& kept);

}  // namespace castscope::web
