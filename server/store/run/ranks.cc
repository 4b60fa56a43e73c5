#include "server/store/run/ranks.h"

#include <algorithm>
#include <set>

#include "server/store/run/process_order.h"

namespace castscope::store {

RankCount ranks_of(const RunData& data) {
  std::set<std::int64_t> told;
  for (const Process& process : data.processes)
    if (const auto rank = rank_of(process)) told.insert(*rank);
  const auto by_processes = static_cast<std::uint32_t>(told.size());
  return {.expected = std::max(data.ranks.expected, by_processes), .seen = std::max(data.ranks.seen, by_processes)};
}

}  // namespace castscope::store
