// The kept events of a run as spans in time, for viewers. Whatever was dropped on the way, spans nest and their times
// never go back within a lane, as viewers demand: spans that are open where events are missing end there.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/read/event_blocks.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct LaneKey {
  store::ProcessId process = {};
  std::uint32_t lane = 0;
  bool operator==(const LaneKey&) const = default;
};

// A row of a GPU's stream. The first line holds its work; further ones hold work that ran at the same time, as branches
// of a graph do. Spans of one line do not overlap.
struct StreamLine {
  store::ProcessId process = {};
  std::uint32_t device = 0, stream = 0, line = 0;
  auto operator<=>(const StreamLine&) const = default;
};
inline constexpr std::uint32_t kMostStreamLines = 4;  // further work waits for the last line

// The number by which a trace tells a process apart: its pid. Where another process of the run has the same (of another
// host, or a later one), it is a number that no process has.
std::int64_t pid_in_trace(const store::RunData& run, store::ProcessId process);

// Times are ns since the run began.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void region_begin(const LaneKey&, std::int64_t time, store::RegionId region, const lanes::Event&) = 0;
  virtual void region_end(const LaneKey&, std::int64_t time) = 0;  // of the innermost region that is open
  virtual void cast(const LaneKey&, std::int64_t time, std::int64_t duration, store::SiteId site,
                    const lanes::Event&) = 0;
  // A kernel, copy or set (0 = not known which). Their order is not defined. Formats that have no place for them leave
  // them out.
  virtual void kernel(const StreamLine&, std::int64_t /*time*/, std::int64_t /*duration*/, store::KernelId /*kernel*/,
                      const lanes::Event&) {}
  // Any other event. `site` is that of a hit, otherwise 0.
  virtual void instant(const LaneKey&, std::int64_t time, store::SiteId site, const lanes::Event&) = 0;
};

class Timeline {
 public:
  static absl::StatusOr<Timeline> open(const std::string& run_file);
  const std::string& run_file() const { return run_file_; }
  const store::RunData& run() const { return run_; }
  std::vector<LaneKey> lanes() const;  // lanes that have kept events, in order

  // Passes the events of all lanes, or of one, to the sink. `check` is called after each block of events, and an error
  // from it ends the reading. A data loss status means that the file is damaged or cut short; what could be read was
  // passed on, to its end.
  absl::Status send_events(TimelineSink&, const std::function<absl::Status()>& check,
                           std::optional<LaneKey> only = std::nullopt) const;

 private:
  Timeline(std::string run_file, store::RunData run, store::LocalNumbers numbers)
      : run_file_(std::move(run_file)), run_(std::move(run)), numbers_(std::move(numbers)) {}
  std::string run_file_;
  store::RunData run_;
  store::LocalNumbers numbers_;
};

// Replaces the contents of `events` by the events of a block. Errors begin with the file's name.
absl::Status unpack_block(const std::string& run_file, const store::RunData&, const store::KeptBlock&,
                          std::vector<lanes::Event>* events);

}  // namespace castscope::report
