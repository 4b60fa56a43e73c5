// Where a finding lies in time: the first event at its line.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/store/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::web {

struct FindingPlace {
  std::vector<std::uint32_t> sites;  // at the finding's line, or where none is, at those that belong to it
  std::optional<std::int64_t> time;  // of the first event there that is still held
  std::uint32_t track = 0;
};
FindingPlace place_of(const store::Finding&, const store::RunData&, const timeline::Timeline&);

}  // namespace castscope::web
