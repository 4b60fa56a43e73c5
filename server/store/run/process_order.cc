#include "server/store/run/process_order.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

namespace castscope::store {

std::optional<std::int64_t> rank_of(const Process& process) {
  const std::string text = process.attribute("rank");
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0) return std::nullopt;
  return rank;
}

std::vector<ProcessId> processes_in_order(const RunData& run) {
  using Key = std::tuple<std::int64_t, std::string, std::int64_t, std::uint32_t>;
  std::vector<std::pair<Key, ProcessId>> keyed;
  for (const Process& process : run.processes)
    keyed.push_back({{rank_of(process).value_or(std::numeric_limits<std::int64_t>::max()), process.info.host,
                      process.info.begin_realtime_ns, process.id},
                     process.id});
  std::ranges::sort(keyed);
  std::vector<ProcessId> order;
  for (const auto& [key, id] : keyed) order.push_back(id);
  return order;
}

Table<std::size_t, Process> places_in_order(const RunData& run) {
  Table<std::size_t, Process> places(run.processes.size());
  std::size_t place = 0;
  for (const ProcessId id : processes_in_order(run)) places[id] = place++;
  return places;
}

}  // namespace castscope::store
