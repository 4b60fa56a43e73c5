#include "server/store/write/open_steps.h"

#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/event_block.h"

namespace castscope::store {

absl::StatusOr<std::set<std::uint32_t>> read_open_steps(
    const Database& database, ProcessId process, std::int64_t settled,
    const std::function<void(std::uint32_t lane, std::span<const lanes::Event>)>& take) {
  auto rows = Statement::prepare(
      database, absl::StrCat("SELECT lane, block_number, first_step, last_step, packed_events FROM event_blocks "
                             "WHERE process = ",
                             process.number(), " ORDER BY id"));
  if (!rows.ok()) return rows.status();
  std::int64_t before = 0;
  bool gap = false;                        // blocks before this one were given up
  std::map<std::uint32_t, bool> is_whole;  // by lane, since the last gap; steps of a lane never fall
  std::vector<lanes::Event> events;
  for (;;) {
    const auto more = rows->next();
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (rows->number(1) != before + 1) {
      gap = true;
      is_whole.clear();
    }
    before = rows->number(1);
    const auto lane = static_cast<std::uint32_t>(rows->number(0));
    is_whole.try_emplace(lane, !gap || rows->number(2) <= settled);
    if (rows->number(3) <= settled) continue;
    events.clear();
    if (wire::unpack(rows->blob(4), wire::kMostEventsInBlock, &events).ok())
      take(lane, events);
    else
      is_whole[lane] = false;
  }
  std::set<std::uint32_t> whole;
  for (const auto& [lane, is] : is_whole)
    if (is) whole.insert(lane);
  return whole;
}

}  // namespace castscope::store
