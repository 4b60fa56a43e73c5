#include "server/cli/serving/retention.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "server/cli/recording/collector_folder.h"
#include "server/cli/recording/conclusion.h"
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
    if (at->path().extension() != ".castscope" || !why_not_taken(at->path().string()).empty()) continue;
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

// The report goes first. If this is interrupted, the next collector makes it again, and the run goes later. What is in
// the report's place and is none of this run's is somebody else's, and stays.
bool remove_run(const Kept& run, const std::string& id) {
  OutputClaim claim;
  if (!claim.take(run.output.stem)) return false;
  if (!is_taken_by_another(run.output, id)) forget_report(run.output);
  std::error_code error;
  if (!fs::remove(run.output.run_file(), error)) return false;
  for (const char* const rest : {"-wal", "-shm"}) fs::remove(run.output.run_file() + rest, error);
  return true;
}

std::uint64_t bytes_of(const std::vector<Kept>& runs) {
  std::uint64_t bytes = 0;
  for (const Kept& run : runs) bytes += run.bytes;
  return bytes;
}

// Of each run, in their order.
std::vector<std::string> senders_of(const std::vector<Kept>& runs, SendersOfFiles& known,
                                    const store::ReadHeading& read_heading) {
  std::vector<std::string> senders;
  SendersOfFiles found;
  for (const Kept& run : runs) {
    const std::string file = run.output.run_file();
    const auto before = known.find(file);
    FileSender one{.written = run.written, .sender = ""};
    if (before != known.end() && before->second.written == run.written)
      one.sender = before->second.sender;
    else if (const auto heading = read_heading(file); heading.ok())
      one.sender = heading->start.sender;
    senders.push_back(one.sender);
    found[file] = std::move(one);
  }
  known = std::move(found);
  return senders;
}

class Removal {
 public:
  Removal(std::vector<Kept> runs, const store::ReadHeading& read_heading)
      : runs_(std::move(runs)), read_heading_(read_heading) {}
  void by_age(std::uint64_t days, std::int64_t now_ns);
  void by_size(std::uint64_t most, std::int64_t now_ns, SendersOfFiles& senders);
  std::vector<RemovedRun> removed() && { return std::move(removed_); }

 private:
  struct Sender {
    std::uint64_t bytes = 0;
    std::deque<const Kept*> to_go;  // the oldest first; of some it is not known yet whether they may
  };
  bool remove(const Kept& run, std::int64_t before_ns);

  std::vector<Kept> runs_;
  const store::ReadHeading& read_heading_;
  std::vector<RemovedRun> removed_;
};

bool Removal::remove(const Kept& run, std::int64_t before_ns) {
  const std::optional<std::string> id = removable(run, before_ns);
  if (!id || !remove_run(run, *id)) return false;
  removed_.push_back({.run_id = *id, .stem = run.output.stem, .bytes = run.bytes});
  return true;
}

void Removal::by_age(std::uint64_t days, std::int64_t now_ns) {
  const std::int64_t oldest_ns = now_ns - static_cast<std::int64_t>(std::min<std::uint64_t>(days, 36'500)) * kDayNs;
  // A file that was written since then holds a run that ended since then.
  const auto oldest = fs::file_time_type::clock::now() - std::chrono::nanoseconds(now_ns - oldest_ns);
  std::erase_if(runs_, [&](const Kept& run) { return run.written < oldest && remove(run, oldest_ns); });
}

void Removal::by_size(std::uint64_t most, std::int64_t now_ns, SendersOfFiles& known) {
  std::uint64_t bytes = bytes_of(runs_);
  if (bytes <= most) return;
  std::map<std::string, Sender> senders;
  const std::vector<std::string> names = senders_of(runs_, known, read_heading_);
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Sender& sender = senders[names[i]];
    sender.bytes += runs_[i].bytes;
    sender.to_go.push_back(&runs_[i]);
  }
  // Runs that may not go count: whoever has many of them, open or just over, has his share by that.
  const std::uint64_t share = most / senders.size();
  const auto rank = [share](const auto& one) {
    return one.second.bytes > share && !one.second.to_go.empty() ? one.second.bytes : 0;
  };
  while (bytes > most) {
    const auto found = std::ranges::max_element(senders, {}, rank);
    if (rank(*found) == 0) return;
    Sender& sender = found->second;
    const Kept& run = *sender.to_go.front();
    sender.to_go.pop_front();
    if (!remove(run, now_ns - kMayGoOnNs)) continue;
    bytes -= run.bytes, sender.bytes -= run.bytes;
  }
}

}  // namespace

std::vector<RemovedRun> remove_what_is_over(const std::string& folder, const Retention& kept, std::int64_t now_ns,
                                            SendersOfFiles& senders, const store::ReadHeading& read_heading) {
  if (kept.days == 0 && kept.bytes == 0) return {};
  Removal removal(runs_in(folder), read_heading);
  if (kept.days > 0) removal.by_age(kept.days, now_ns);
  if (kept.bytes > 0) removal.by_size(kept.bytes, now_ns, senders);
  return std::move(removal).removed();
}

}  // namespace castscope::cli
