// The kept events of a run as spans in time, for viewers. Whatever was dropped on the way, spans nest and their times
// never go back within a lane, as viewers demand: what is open where events are missing is ended there.
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
  std::uint32_t process = 0, lane = 0;
  bool operator==(const LaneKey&) const = default;
};

// What a stream of a GPU did: in its first line, or in further ones where it did more at once, as branches of a graph
// do. Spans of one line do not overlap.
struct StreamLine {
  std::uint32_t process = 0, device = 0, stream = 0, line = 0;
  auto operator<=>(const StreamLine&) const = default;
};
inline constexpr std::uint32_t kMostStreamLines = 4;  // then one begins when another is over

// Times are ns since the run began.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void region_begin(const LaneKey&, std::int64_t time, std::uint32_t region, const lanes::Event&) = 0;
  virtual void region_end(const LaneKey&, std::int64_t time) = 0;  // of the innermost one that is open
  virtual void cast(const LaneKey&, std::int64_t time, std::int64_t duration, std::uint32_t site,
                    const lanes::Event&) = 0;
  // A kernel, copy or set (0 = not known which), of which no order is promised. Left out where a form has no place for
  // it.
  virtual void kernel(const StreamLine&, std::int64_t /*time*/, std::int64_t /*duration*/, std::uint32_t /*kernel*/,
                      const lanes::Event&) {}
  // Anything else: `site` of a hit, 0 otherwise.
  virtual void instant(const LaneKey&, std::int64_t time, std::uint32_t site, const lanes::Event&) = 0;
};

class Timeline {
 public:
  static absl::StatusOr<Timeline> open(const std::string& run_file);
  const std::string& run_file() const { return run_file_; }
  const store::RunData& run() const { return run_; }
  std::vector<LaneKey> lanes() const;  // that have kept events, in order

  // Tells what happened, of all lanes or of one. `check` is asked after each block of events: an error ends it. Data
  // loss: the file is damaged or cut short, and what could be read was told, to its end.
  absl::Status tell(TimelineSink&, const std::function<absl::Status()>& check,
                    std::optional<LaneKey> only = std::nullopt) const;

 private:
  Timeline(std::string run_file, store::RunData run, store::LocalNumbers numbers)
      : run_file_(std::move(run_file)), run_(std::move(run)), numbers_(std::move(numbers)) {}
  std::string run_file_;
  store::RunData run_;
  store::LocalNumbers numbers_;
};

// The events of a block, instead of those before. Errors begin with the file's name.
absl::Status unpacked(const std::string& run_file, const store::RunData&, const store::KeptBlock&,
                      std::vector<lanes::Event>* events);

}  // namespace castscope::report
