#include "server/store/write/event_window.h"

#include <utility>

namespace castscope::store {

absl::StatusOr<EventWindow> EventWindow::on(const Database& database, const StoreOptions& options) {
  EventWindow window;
  window.options_ = options;
  auto add = Statement::prepare(database, "INSERT INTO event_blocks VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  if (!add.ok()) return add.status();
  window.add_ = *std::move(add);
  auto remove = Statement::prepare(database, "DELETE FROM event_blocks WHERE id = ?");
  if (!remove.ok()) return remove.status();
  window.remove_ = *std::move(remove);
  return window;
}

absl::Status EventWindow::adopt(const Database& database) {
  auto rows = Statement::prepare(
      database, "SELECT id, process, kept_window, length(packed_events), block_number FROM event_blocks ORDER BY id");
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    OfProcess& of = processes_[ProcessId(rows->number(1))];
    const auto bytes = static_cast<std::size_t>(rows->number(3));
    next_id_ = rows->number(0) + 1;
    of.blocks = rows->number(4);
    if (rows->number(2) == kFirst) {
      of.first_bytes += bytes;
    } else {
      of.newest.push_back({rows->number(0), bytes});
      of.newest_bytes += bytes;
    }
  }
}

absl::Status EventWindow::add(ProcessId process, const EventBlock& block) {
  if (block.events.empty()) return absl::OkStatus();
  OfProcess& of = processes_[process];
  const std::size_t bytes = block.packed.size();
  const bool first = options_.keep_all || (of.newest.empty() && of.first_bytes < options_.first_window_bytes);
  const lanes::Event &begin = block.events.front(), &end = block.events.back();
  const std::int64_t id = next_id_++;
  CASTSCOPE_RETURN_IF_ERROR(add_.run(id, process, block.lane, ++of.blocks, first ? kFirst : kNewest, begin.time,
                                     end.time, begin.step, end.step, block.events.size(), Blob{block.packed}));
  if (first) {
    of.first_bytes += bytes;
    return absl::OkStatus();
  }
  of.newest.push_back({id, bytes});
  of.newest_bytes += bytes;
  while (of.newest.size() > 1 && of.newest_bytes - of.newest.front().bytes >= options_.newest_window_bytes) {
    CASTSCOPE_RETURN_IF_ERROR(remove_.run(of.newest.front().id));
    of.newest_bytes -= of.newest.front().bytes;
    of.newest.pop_front();
  }
  return absl::OkStatus();
}

}  // namespace castscope::store
