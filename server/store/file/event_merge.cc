#include "server/store/file/event_merge.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/event_block.h"
#include "server/store/file/checksum.h"

namespace castscope::store {
namespace {

// A block of this many events has learnt what there is to learn.
constexpr std::int64_t kSmall = 4096;
constexpr std::size_t kFull = 16384;

class LaneMerge {
 public:
  static absl::StatusOr<LaneMerge> on(const Database& database) {
    LaneMerge merge;
    const std::pair<Statement*, const char*> all[] = {
        {&merge.read_,
         "SELECT id, kept_window, last_in_process_ns, last_step, event_count, packed_events FROM event_blocks WHERE "
         "process = ? AND lane = ? "
         "ORDER BY id"},
        {&merge.change_,
         "UPDATE event_blocks SET last_in_process_ns = ?, last_step = ?, event_count = ?, packed_events = ? WHERE id = "
         "?"},
        {&merge.remove_, "DELETE FROM event_blocks WHERE id = ?"}};
    for (const auto& [statement, sql] : all) {
      auto one = Statement::prepare(database, sql);
      if (!one.ok()) return one.status();
      *statement = *std::move(one);
    }
    return merge;
  }

  // Rows that were read are changed and removed while the reading goes on, which SQLite allows.
  absl::Status lane(std::int64_t process, std::int64_t lane) {
    read_.bind_all(process, lane);
    for (;;) {
      const auto more = read_.next();
      if (!more.ok()) return more.status();
      if (!*more) return finish_block();
      CASTSCOPE_RETURN_IF_ERROR(take());
    }
  }

 private:
  absl::Status take() {
    const std::int64_t kept = read_.number(1), count = read_.number(4);
    const bool fits = ids_.empty() || (kept == kept_ && events_.size() + static_cast<std::size_t>(count) <= kFull);
    if (count >= kSmall || !fits) CASTSCOPE_RETURN_IF_ERROR(finish_block());
    if (count >= kSmall) return absl::OkStatus();
    // Damaged, or of another format: it stays, and nothing is put together across it.
    if (!wire::unpack(read_.blob(5), kFull, &events_).ok()) return finish_block();
    ids_.push_back(read_.number(0));
    kept_ = kept;
    last_ns_ = read_.number(2);
    last_step_ = read_.number(3);
    return absl::OkStatus();
  }

  absl::Status finish_block() {
    if (ids_.size() > 1) {
      const std::string packed = wire::pack(events_);
      CASTSCOPE_RETURN_IF_ERROR(change_.run(last_ns_, last_step_, events_.size(), Blob{packed}, ids_.front()));
      for (std::size_t i = 1; i < ids_.size(); ++i) CASTSCOPE_RETURN_IF_ERROR(remove_.run(ids_[i]));
    }
    ids_.clear();
    events_.clear();
    return absl::OkStatus();
  }

  Statement read_, change_, remove_;
  std::vector<std::int64_t> ids_;  // of the blocks that become one
  std::vector<lanes::Event> events_;
  std::int64_t kept_ = 0, last_ns_ = 0, last_step_ = 0;
};

// A process's blocks are numbered without a hole, but for the one between the first and the newest.
struct Numbers {
  bool gap = false;
  std::int64_t last = 0, last_kept = 0;
};

absl::StatusOr<absl::flat_hash_map<std::int64_t, Numbers>> find_gaps(const Database& database) {
  absl::flat_hash_map<std::int64_t, Numbers> processes;
  auto rows = Statement::prepare(database, "SELECT process, block_number FROM event_blocks ORDER BY id");
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok()) return more.status();
    if (!*more) break;
    Numbers& of = processes[rows->number(0)];
    of.gap |= of.last != 0 && rows->number(1) != of.last + 1;
    of.last = rows->number(1);
  }
  for (auto& [process, of] : processes) of.last = 0;
  return processes;
}

absl::Status number_again(const Database& database, absl::flat_hash_map<std::int64_t, Numbers> processes) {
  auto rows =
      Statement::prepare(database, "SELECT id, process, kept_window, block_number FROM event_blocks ORDER BY id");
  if (!rows.ok()) return rows.status();
  auto change = Statement::prepare(database, "UPDATE event_blocks SET block_number = ? WHERE id = ?");
  if (!change.ok()) return change.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    Numbers& of = processes[rows->number(1)];
    const std::int64_t kept = rows->number(2);
    of.last += of.gap && of.last_kept != 0 && kept != of.last_kept ? 2 : 1;
    of.last_kept = kept;
    if (rows->number(3) != of.last) CASTSCOPE_RETURN_IF_ERROR(change->run(of.last, rows->number(0)));
  }
}

absl::Status merge_all(Database& database) {
  auto gaps = find_gaps(database);
  if (!gaps.ok()) return gaps.status();
  std::vector<std::pair<std::int64_t, std::int64_t>> lanes;
  auto rows = Statement::prepare(database,
                                 "SELECT process, lane FROM event_blocks WHERE event_count < 4096 "
                                 "GROUP BY process, lane HAVING count(*) > 1");
  if (!rows.ok()) return rows.status();
  for (;;) {
    const auto more = rows->next();
    if (!more.ok()) return more.status();
    if (!*more) break;
    lanes.emplace_back(rows->number(0), rows->number(1));
  }
  if (lanes.empty()) return absl::OkStatus();
  auto merge = LaneMerge::on(database);
  if (!merge.ok()) return merge.status();
  for (const auto& [process, lane] : lanes) CASTSCOPE_RETURN_IF_ERROR(merge->lane(process, lane));
  CASTSCOPE_RETURN_IF_ERROR(number_again(database, *std::move(gaps)));
  const auto has_checksum = has_checksums(database);
  return has_checksum.ok() && *has_checksum ? write_checksum(database, Part::kEvents) : has_checksum.status();
}

}  // namespace

absl::Status merge_event_blocks(Database& database) {
  CASTSCOPE_RETURN_IF_ERROR(database.exec("BEGIN IMMEDIATE"));
  absl::Status status = merge_all(database);
  if (status.ok()) status = database.exec("COMMIT");
  if (!status.ok()) (void)database.exec("ROLLBACK");
  return status;
}

}  // namespace castscope::store
