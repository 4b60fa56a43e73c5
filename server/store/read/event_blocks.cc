#include "server/store/read/event_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "server/store/file/run_file.h"

namespace castscope::store {

namespace {

// Blocks of a process are numbered one by one: where a number is left out, others were given up.
class Gaps {
 public:
  bool before(ProcessId process, std::int64_t number) {
    std::int64_t& last = last_[process];
    const bool gap = number != last + 1;
    last = number;
    return gap;
  }

 private:
  absl::flat_hash_map<ProcessId, std::int64_t> last_;
};

}  // namespace

absl::Status read_event_blocks(const std::string& path, const std::function<absl::Status(const KeptBlock&)>& take) {
  auto database = open_as_it_is(path);
  if (!database.ok()) return database.status();
  auto rows =
      Statement::prepare(*database, "SELECT process, lane, block_number, packed_events FROM event_blocks ORDER BY id");
  if (!rows.ok()) return rows.status();
  Gaps gaps;
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    KeptBlock block;
    rows->get(0, block.process);
    rows->get(1, block.lane);
    block.after_gap = gaps.before(block.process, rows->number(2));
    block.packed = rows->blob(3);
    CASTSCOPE_RETURN_IF_ERROR(take(block));
  }
}

namespace {

struct ListedBlock {
  std::int64_t id = 0;
  KeptBlock block;
  std::uint32_t gaps = 0;  // of its process, before it
  std::int64_t first_ns = 0, settled_ns = 0;
};

// Lists the blocks, without the events in them, in the order in which they were received. When one cannot be read,
// those before it stay in the list.
absl::Status list_blocks(const Database& database, std::vector<ListedBlock>* blocks) {
  auto rows = Statement::prepare(
      database, "SELECT id, process, lane, block_number, first_in_process_ns FROM event_blocks ORDER BY id");
  if (!rows.ok()) return rows.status();
  Gaps gaps;
  absl::flat_hash_map<ProcessId, std::uint32_t> count;  // of each process
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    ListedBlock& listed = blocks->emplace_back();
    listed.id = rows->number(0);
    rows->get(1, listed.block.process);
    rows->get(2, listed.block.lane);
    if (gaps.before(listed.block.process, rows->number(3))) ++count[listed.block.process];
    listed.gaps = count[listed.block.process];
    listed.first_ns = rows->number(4);
  }
}

// The two sides of a gap stay apart.
void put_in_time(std::vector<ListedBlock>& blocks) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const ListedBlock& a, const ListedBlock& b) {
    return std::tuple(a.gaps, a.first_ns) < std::tuple(b.gaps, b.first_ns);
  });
  absl::flat_hash_map<ProcessId, const ListedBlock*> next;  // of each process
  for (std::size_t i = blocks.size(); i-- > 0;) {
    const ListedBlock*& after = next[blocks[i].block.process];
    const bool last = after == nullptr || after->gaps != blocks[i].gaps;
    blocks[i].settled_ns = last ? INT64_MAX : after->first_ns - 1;
    after = &blocks[i];
  }
  absl::flat_hash_map<ProcessId, std::uint32_t> gaps;
  for (ListedBlock& listed : blocks) {
    std::uint32_t& before = gaps[listed.block.process];
    listed.block.after_gap = listed.gaps != before;
    before = listed.gaps;
  }
}

}  // namespace

absl::Status read_event_blocks_by_time(
    const std::string& path, const std::function<absl::Status(const KeptBlock&, std::int64_t settled_ns)>& take) {
  auto database = open_as_it_is(path);
  if (!database.ok()) return database.status();
  std::vector<ListedBlock> blocks;
  const absl::Status listed_all = list_blocks(*database, &blocks);
  put_in_time(blocks);
  auto data = Statement::prepare(*database, "SELECT packed_events FROM event_blocks WHERE id = ?");
  if (!data.ok()) return data.status();
  for (ListedBlock& listed : blocks) {
    data->bind_all(listed.id);
    const auto found = data->next();
    if (!found.ok() || !*found) return found.status();
    listed.block.packed = data->blob(0);
    CASTSCOPE_RETURN_IF_ERROR(take(listed.block, listed.settled_ns));
    if (const auto end = data->next(); !end.ok()) return end.status();  // ready for the next one
  }
  return listed_all;
}

absl::Status read_event_blocks_in(const std::string& path, const BlockRange& range,
                                  const std::function<absl::Status(const KeptBlock&)>& take) {
  auto database = open_as_it_is(path);
  if (!database.ok()) return database.status();
  auto rows = Statement::prepare(
      *database,
      "SELECT packed_events FROM event_blocks WHERE process = ? AND lane = ? AND first_in_process_ns <= ? AND "
      "last_in_process_ns >= ? ORDER BY id");
  if (!rows.ok()) return rows.status();
  rows->bind_all(range.process, range.lane, range.last_ns, range.first_ns);
  for (;;) {
    const auto more = rows->next();
    if (!more.ok() || !*more) return more.status();
    CASTSCOPE_RETURN_IF_ERROR(take({.process = range.process, .lane = range.lane, .packed = rows->blob(0)}));
  }
}

absl::StatusOr<LocalNumbers> LocalNumbers::read(const std::string& path) {
  auto database = open_as_it_is(path);
  if (!database.ok()) return database.status();
  const auto read_into = [&](auto& numbers, const char* sql) {
    return each(*database, sql, [&](const Statement& row) {
      auto& id = numbers[static_cast<std::uint64_t>(row.number(0)) << 32 | static_cast<std::uint32_t>(row.number(1))];
      row.get(2, id);
    });
  };
  LocalNumbers numbers;
  CASTSCOPE_RETURN_IF_ERROR(read_into(numbers.sites_, "SELECT process, local_id, site FROM local_sites"));
  CASTSCOPE_RETURN_IF_ERROR(read_into(numbers.regions_, "SELECT process, local_id, region FROM local_regions"));
  CASTSCOPE_RETURN_IF_ERROR(
      read_into(numbers.uses_, "SELECT process, local_id, operator_use FROM local_operator_uses"));
  CASTSCOPE_RETURN_IF_ERROR(read_into(numbers.facts_, "SELECT process, local_id, fact FROM local_facts"));
  CASTSCOPE_RETURN_IF_ERROR(read_into(numbers.kernels_, "SELECT process, local_id, kernel FROM local_kernels"));
  return numbers;
}

}  // namespace castscope::store
