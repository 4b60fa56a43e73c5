// How large the numbers of a run may be. SQL's integers end at 2^63 - 1: a larger number would be read as a negative
// one, and a sum beyond it is an error that keeps the whole file from being read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/ingest/validation/record.h"
#include "server/store/run/run_sink.h"

namespace castscope::ingest {

inline constexpr std::uint64_t kMostCount = (std::uint64_t{1} << 63) - 1;

// Times since 1970, in ns: the year 2200. With what a run lasts they stay far below 2^63.
inline constexpr std::int64_t kLatestStart = 7'258'118'400'000'000'000;

// "a number of bytes in an event of 18446744073709551615, beyond 2^63 - 1"
inline std::string beyond_bounds(const std::string& what, std::uint64_t value) {
  return absl::StrCat("a ", what, " of ", value, ", beyond 2^63 - 1");
}

// The sum of each column of counts over all processes, sites and lanes of a run.
class RunSums {
 public:
  // Takes what a row had before, and has now. Counts never fall. A row that takes a sum beyond the bound is not taken.
  absl::Status count(const store::CounterRow& before, const store::CounterRow& now) {
    return grow({{"casts", before.casts, now.casts},
                 {"cache_hits", before.hits, now.hits},
                 {"pass_throughs", before.passes, now.passes},
                 {"traced", before.traced, now.traced},
                 {"bytes", before.bytes, now.bytes},
                 {"cpu_ns", before.cpu_ns, now.cpu_ns},
                 {"kept", before.kept, now.kept}},
                sums_);
  }
  absl::Status count(const store::LaneRow& before, const store::LaneRow& now) {
    return grow({{"events_published", before.written, now.written}, {"events_dropped", before.dropped, now.dropped}},
                lane_sums_);
  }
  // Definitions are kept in memory for as long as their processes run. `bytes`: of new ones.
  absl::Status define(std::uint64_t bytes) {
    definition_bytes_ += bytes;
    if (bytes == 0 || definition_bytes_ <= most_definition_bytes_) return absl::OkStatus();
    return invalid(absl::StrCat("definitions that take those of the run beyond ", most_definition_bytes_, " bytes"));
  }
  // A new lane, or a new counter of one. They have as much room in the run file as definitions, and take none of
  // theirs: a process that is there goes on counting when somebody has defined too much.
  absl::Status add_lane() { return keep(kLaneBytes, kLaneBytesInMemory); }
  absl::Status add_counter() { return keep(kCounterBytes, kCounterBytesInMemory); }
  std::uint64_t room_for_definitions() const {
    return most_definition_bytes_ - std::min(most_definition_bytes_, definition_bytes_);
  }
  void bound_definitions(std::uint64_t bytes) {
    most_definition_bytes_ = bytes > 0 ? bytes : kMostDefinitionBytesOfRun;
  }
  void received(std::uint64_t events) { events_received_ += events; }
  std::uint64_t events_received() const { return events_received_; }
  std::uint64_t events_dropped() const { return lane_sums_[1]; }

 private:
  struct Column {
    const char* name;
    std::uint64_t before, now;
  };
  template <std::size_t n>
  static absl::Status grow(const Column (&columns)[n], std::array<std::uint64_t, n>& sums) {
    for (std::size_t i = 0; i < n; ++i) {
      const Column& column = columns[i];
      if (column.now > kMostCount) return invalid(beyond_bounds(absl::StrCat("count of ", column.name), column.now));
      if (column.now - column.before > kMostCount - sums[i])
        return invalid(absl::StrCat("a count of ", column.name, " that takes the run's sum beyond 2^63 - 1"));
    }
    for (std::size_t i = 0; i < n; ++i) sums[i] += columns[i].now - columns[i].before;
    return absl::OkStatus();
  }

  absl::Status keep(std::uint64_t in_file, std::uint64_t in_memory) {
    counting_bytes_ += in_file;
    counting_memory_ += in_memory;
    if (counting_bytes_ > most_definition_bytes_)
      return invalid(
          absl::StrCat("lanes and counters that take those of the run beyond ", most_definition_bytes_, " bytes"));
    if (counting_memory_ <= kMostCountingMemory) return absl::OkStatus();
    return invalid(absl::StrCat("lanes and counters that take those of the run beyond ", kMostCountingMemory >> 20,
                                " MiB of memory"));
  }

  // A collector that was sent 786,420 lanes took 1.27 GB of memory and 119 MB of its disk; 3.1 million counters took
  // 1.2 GB and 132 MB.
  static constexpr std::uint64_t kLaneBytes = 150, kLaneBytesInMemory = 1600;
  static constexpr std::uint64_t kCounterBytes = 45, kCounterBytesInMemory = 400;
  static constexpr std::uint64_t kMostCountingMemory = std::uint64_t{1} << 30;
  std::uint64_t counting_bytes_ = 0, counting_memory_ = 0;
  std::array<std::uint64_t, 7> sums_{};
  std::array<std::uint64_t, 2> lane_sums_{};
  static constexpr std::uint64_t kMostDefinitionBytesOfRun = std::uint64_t{1} << 30;
  std::uint64_t definition_bytes_ = 0, most_definition_bytes_ = kMostDefinitionBytesOfRun;
  std::uint64_t events_received_ = 0;
};

}  // namespace castscope::ingest
