// A run file that a killed writer left is written on: ProcessWriter reads back what that writer had stored of its
// process.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/store/write/open_steps.h"
#include "server/store/write/process_writer.h"

namespace castscope::store {

absl::Status ProcessWriter::adopt(const Database& database, const RunData& data) {
  const Process& process = data.processes[id_];
  for (const LaneRow& lane : process.lanes) {
    lanes_[lane.lane] = lane;
    gaps_[lane.lane].adopt(lane);
    goes_on_ |= lane.received > 0;
  }
  for (const RegionUse& use : data.region_uses) {
    if (use.process == id_) evidence_.adopt(use);
  }
  deep_.adopt(data);
  CASTSCOPE_RETURN_IF_ERROR(numbers_.adopt(database, data));
  CASTSCOPE_RETURN_IF_ERROR(adopt_steps(database, data));
  return adopt_counters(database);
}

absl::Status ProcessWriter::adopt_steps(const Database& database, const RunData& data) {
  std::size_t runs = 0;
  std::int64_t settled = -1;
  for (const StepRun& run : data.step_runs) {
    if (run.process != id_) continue;
    ++runs;
    settled = std::max(settled, std::int64_t{run.last});
  }
  step_runs_.already(runs);
  steps_.already(settled);
  const auto whole =
      read_open_steps(database, id_, settled, [&](std::uint32_t lane, std::span<const lanes::Event> events) {
        for (const lanes::Event& event : events)
          if (std::int64_t{event.step} > settled && !is_picture_only(event.kind)) step_event(lane, event);
      });
  if (!whole.ok()) return whole.status();
  for (const auto& [lane, row] : lanes_) {
    if (row.received == 0 || (row.dropped == 0 && whole->contains(lane))) continue;
    steps_.open_steps_may_lack_events();
    steps_.gap(lane);
  }
  return absl::OkStatus();
}

absl::Status ProcessWriter::adopt_counters(const Database& database) {
  auto rows = Statement::prepare(database,
                                 absl::StrCat("SELECT id & 4294967295, lane, casts, cache_hits, pass_throughs, traced, "
                                              "bytes, cpu_ns, kept FROM counters WHERE process = ",
                                              id_.number()));
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    CounterRow row;
    rows->get(0, row.site), rows->get(1, row.lane), rows->get(2, row.casts), rows->get(3, row.hits);
    rows->get(4, row.passes), rows->get(5, row.traced), rows->get(6, row.bytes), rows->get(7, row.cpu_ns);
    rows->get(8, row.kept);
    counters_[std::uint64_t{row.lane} << 32 | row.site] = {.row = row};
  }
}

}  // namespace castscope::store
