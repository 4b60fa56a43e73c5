#include "server/report/timelines/timeline.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "agent/lanes/event_views.h"
#include "proto/event_block.h"
#include "server/report/model/model.h"
#include "server/report/text/words.h"
#include "server/store/read/run_reader.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using lanes::EventKind;

// This time is later than any clock's: a damaged file with later times must not cause an overflow.
constexpr std::int64_t kLatest = std::int64_t{1} << 62;

// The state of one lane so far.
struct Lane {
  std::vector<std::uint32_t> open;  // regions, by their numbers in the process
  std::int64_t last = 0;            // no later time may lie before it
};

class SpanSender {
 public:
  SpanSender(const store::RunData& run, const store::LocalNumbers& numbers, TimelineSink& sink)
      : run_(run), numbers_(numbers), sink_(sink) {}

  void gap(store::ProcessId process) {
    for (auto& [key, lane] : lanes_) {
      if (key.first == process) close(LaneKey{key.first, key.second}, lane, 0);
    }
  }
  void take(const LaneKey& key, std::span<const lanes::Event> events) {
    Lane& lane = lanes_[{key.process, key.lane}];
    const auto begin = static_cast<std::uint64_t>(run_.processes[key.process].info.begin_realtime_ns) -
                       static_cast<std::uint64_t>(run_.start.start_ns);
    for (const lanes::Event& event : events) {
      if (event.kind == EventKind::kKernel) continue;    // it has a time of its own: send_kernels()
      if (event.kind == EventKind::kOperator) continue;  // it comes at its end, after the spans within it
      const std::int64_t time =
          std::clamp(static_cast<std::int64_t>(begin + event.time), lane.last, std::max(lane.last, kLatest));
      lane.last = time;
      send(key, lane, time, event);
    }
    send_kernels(key.process, static_cast<std::int64_t>(begin), events);
  }
  void end() {
    for (auto& [key, lane] : lanes_) close(LaneKey{key.first, key.second}, lane, 0);
  }

 private:
  // A damaged file may lack what a number leads to.
  template <typename T>
  static store::Id<T> known(const store::Table<T>& table, store::Id<T> id) {
    return table.contains(id) ? id : store::Id<T>();
  }
  store::SiteId site(const LaneKey& key, const lanes::Event& event) const {
    return known(run_.sites, numbers_.site(key.process, event.site));
  }
  store::RegionId region(const LaneKey& key, const lanes::Event& event) const {
    return known(run_.regions, numbers_.region(key.process, event.site));
  }
  void close(const LaneKey& key, Lane& lane, std::size_t depth) {
    for (; lane.open.size() > depth; lane.open.pop_back()) sink_.region_end(key, lane.last);
  }

  // Reports the GPU work of a block. Kernels are in the order in which their launcher became known.
  void send_kernels(store::ProcessId process, std::int64_t begin, std::span<const lanes::Event> events) {
    std::vector<const lanes::Event*> kernels;
    for (const lanes::Event& event : events)
      if (event.kind == EventKind::kKernel) kernels.push_back(&event);
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const lanes::Event* a, const lanes::Event* b) { return a->time < b->time; });
    for (const lanes::Event* event : kernels) {
      const auto since = static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + event->time);
      std::int64_t time = std::clamp<std::int64_t>(since, 0, kLatest);
      const std::int64_t end = time + event->duration;
      const lanes::KernelEvent ran = as_kernel(*event);
      StreamLine at{process, ran.device, ran.stream, 0};
      while (at.line + 1 < kMostStreamLines && free_from_[at] > time) ++at.line;
      std::int64_t& free_from = free_from_[at];
      time = std::max(time, free_from);
      free_from = std::max(time, end);
      const store::KernelId kernel = known(run_.kernels, numbers_.kernel(process, event->site));
      sink_.kernel(at, time, free_from - time, kernel, *event);
    }
  }

  void send(const LaneKey& key, Lane& lane, std::int64_t time, const lanes::Event& event) {
    switch (event.kind) {
      case EventKind::kCast:
        sink_.cast(key, time, event.duration, site(key, event), event);
        lane.last = time + event.duration;
        return;
      case EventKind::kRegionEnter:
        lane.open.push_back(event.site);
        return sink_.region_begin(key, time, region(key, event), event);
      case EventKind::kRegionExit: {
        // The region's begin may have been dropped, or the ends of regions inside it.
        const auto found = std::find(lane.open.rbegin(), lane.open.rend(), event.site);
        if (found != lane.open.rend()) close(key, lane, static_cast<std::size_t>(lane.open.rend() - found) - 1);
        return;
      }
      case EventKind::kThread:
        close(key, lane, 0);
        break;
      case EventKind::kHit:
        return sink_.instant(key, time, site(key, event), event);
      default:
        break;
    }
    sink_.instant(key, time, {}, event);
  }

  const store::RunData& run_;
  const store::LocalNumbers& numbers_;
  TimelineSink& sink_;
  std::map<std::pair<store::ProcessId, std::uint32_t>, Lane> lanes_;
  std::map<StreamLine, std::int64_t> free_from_;
};

}  // namespace

absl::StatusOr<Timeline> Timeline::open(const std::string& run_file) {
  auto run = store::read_as_it_is(run_file);
  if (!run.ok()) return run.status();
  auto numbers = store::LocalNumbers::read(run_file);
  if (!numbers.ok()) return numbers.status();
  return Timeline(run_file, *std::move(run), *std::move(numbers));
}

std::vector<LaneKey> Timeline::lanes() const {
  std::vector<LaneKey> all;
  for (const store::Process& process : run_.processes) {
    for (const store::LaneRow& lane : process.lanes) {
      if (lane.received > 0) all.push_back({process.id, lane.lane});
    }
  }
  return all;
}

absl::Status Timeline::send_events(TimelineSink& sink, const std::function<absl::Status()>& check,
                                   std::optional<LaneKey> only) const {
  SpanSender sender(run_, numbers_, sink);
  std::vector<lanes::Event> events;
  const auto take = [&](const store::KeptBlock& block) -> absl::Status {
    if (block.after_gap) sender.gap(block.process);
    const LaneKey key{block.process, block.lane};
    if (only && key != *only) return absl::OkStatus();
    const absl::Status bad = unpack_block(run_file_, run_, block, &events);
    if (!bad.ok()) return bad;
    sender.take(key, events);
    return check();
  };
  const absl::Status status = store::read_event_blocks(run_file_, take);
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  sender.end();
  if (absl::Status checked = check(); !checked.ok()) return checked;
  return run_.damage ? damage_status(run_file_, run_) : status;
}

absl::Status unpack_block(const std::string& run_file, const store::RunData& run, const store::KeptBlock& block,
                          std::vector<lanes::Event>* events) {
  events->clear();
  if (!run.processes.contains(block.process)) {
    return absl::DataLossError(absl::StrCat(run_file, ": the run file is damaged: events of an unknown process"));
  }
  const absl::Status bad = wire::unpack(block.packed, wire::kMostEventsInBlock, events);
  if (absl::IsUnimplemented(bad)) {
    return absl::UnimplementedError(
        absl::StrCat(run_file, ": the run file has ", bad.message(), "; convert it with the castscope that wrote it"));
  }
  if (!bad.ok()) return absl::DataLossError(absl::StrCat(run_file, ": the run file is damaged: ", bad.message()));
  return absl::OkStatus();
}

std::int64_t pid_in_trace(const store::RunData& run, store::ProcessId process) {
  constexpr std::int64_t kBeyondPids = 1'000'000'000;
  const std::int64_t pid = run.processes[process].info.pid;
  const auto same = [&](const store::Process& other) { return other.info.pid == pid; };
  return std::ranges::count_if(run.processes, same) > 1 ? kBeyondPids + std::int64_t{process} : pid;
}

}  // namespace castscope::report
