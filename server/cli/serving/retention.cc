#include "server/cli/serving/retention.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "server/cli/recording/output_claim.h"
#include "server/cli/recording/output_name.h"
#include "server/store/read/run_heading.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDayNs = 86'400'000'000'000;
// A collector that is stopped closes its runs, and their relays go on with the next one.
constexpr std::int64_t kMayGoOnNs = 120'000'000'000;

struct Kept {
  Output output;
  std::uint64_t bytes = 0;
  fs::file_time_type written{};
};

std::uint64_t bytes_in(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

// The oldest is first: nothing is written into a run file after the run's end.
std::vector<Kept> runs_in(const std::string& folder) {
  std::vector<Kept> runs;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->path().extension() != ".castscope" || !at->is_regular_file(gone)) continue;
    Kept one{.output = {(fs::path(folder) / at->path().stem()).string()}, .written = at->last_write_time(gone)};
    if (gone) continue;
    for (const std::string& file : {one.output.run_file(), one.output.run_file() + "-wal", one.output.report_file()})
      one.bytes += bytes_in(file);
    runs.push_back(std::move(one));
  }
  std::ranges::sort(runs, {}, &Kept::written);
  return runs;
}

// The run's id, if it may go: it was collected and is over, and nobody writes it. `before_ns`: it ended before that.
std::optional<std::string> removable(const Kept& run, std::int64_t before_ns) {
  const auto heading = store::read_heading(run.output.run_file());
  if (!heading.ok() || !heading->start.collected || !heading->end || heading->end->end_ns >= before_ns)
    return std::nullopt;
  return heading->start.run_id;
}

// The report goes first. If this is interrupted, the next collector makes it again, and the run goes later.
bool remove_run(const Kept& run) {
  OutputClaim claim;
  if (!claim.take(run.output.stem)) return false;
  std::error_code error;
  fs::remove(run.output.report_file(), error);
  if (!fs::remove(run.output.run_file(), error)) return false;
  for (const char* const rest : {"-wal", "-shm"}) fs::remove(run.output.run_file() + rest, error);
  return true;
}

}  // namespace

std::vector<RemovedRun> remove_what_is_over(const std::string& folder, const Retention& kept, std::int64_t now_ns) {
  std::vector<RemovedRun> removed;
  if (kept.days == 0 && kept.bytes == 0) return removed;
  const std::vector<Kept> runs = runs_in(folder);
  std::uint64_t bytes = 0;
  for (const Kept& run : runs) bytes += run.bytes;
  const std::int64_t oldest_ns =
      now_ns - static_cast<std::int64_t>(std::min<std::uint64_t>(kept.days, 36'500)) * kDayNs;
  // A file that was written since then holds a run that ended since then.
  const auto oldest = fs::file_time_type::clock::now() - std::chrono::nanoseconds(now_ns - oldest_ns);
  for (const Kept& run : runs) {
    const bool too_much = kept.bytes > 0 && bytes > kept.bytes;
    const bool may_be_old = kept.days > 0 && run.written < oldest;
    if (!too_much && !may_be_old) continue;
    const std::optional<std::string> id = removable(run, too_much ? now_ns - kMayGoOnNs : oldest_ns);
    if (!id || !remove_run(run)) continue;
    bytes -= run.bytes;
    removed.push_back({.run_id = *id, .stem = run.output.stem, .bytes = run.bytes});
  }
  return removed;
}

}  // namespace castscope::cli
