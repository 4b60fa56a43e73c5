// The reading end of a segment: maps a file that another process writes, or has left behind, and trusts nothing in it.
// Every offset and length is checked against the size of the file before it is followed. Its sibling is
// segment_writer.h. What is damaged costs itself and what can be reached only through it: a ring its events, a chain of
// counters those behind the damage, a definition those behind it.
//
// An instance belongs to one thread. Nothing throws; error() and damage() say in a sentence what is wrong with a
// segment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/lanes/format.h"

namespace castscope::lanes {

// Turns the segment's clock into ns since its begin. The rate is learned from pairs of both clocks and kept for good
// once they are far enough apart, so that the same ticks give the same ns again and again.
class ClockConversion {
 public:
  ClockConversion() = default;
  ClockConversion(Clock clock, std::uint64_t clock0, std::uint64_t monotonic0_ns)
      : clock_(clock), clock0_(clock0), monotonic0_(monotonic0_ns) {}
  // Takes a later reading of both clocks; one that goes backwards is ignored.
  void learn(std::uint64_t clock, std::uint64_t monotonic_ns);
  bool settled() const { return clock_ == Clock::kMonotonicNs || baseline_ns_ >= kSettledNs; }
  std::uint64_t duration_ns(std::uint64_t ticks) const;
  std::uint64_t since_begin_ns(std::uint64_t time) const { return time <= clock0_ ? 0 : duration_ns(time - clock0_); }

 private:
  // Two clock reads are at most some 100 ns apart: over 2 s that is a rate good to 1e-7.
  static constexpr std::uint64_t kSettledNs = 2'000'000'000;
  Clock clock_ = Clock::kMonotonicNs;
  std::uint64_t clock0_ = 0, monotonic0_ = 0, baseline_ns_ = 0;
  double ns_per_tick_ = 1.0;
};

struct LaneState {
  std::uint32_t id = 0, tid = 0;
  std::uint64_t written = 0;  // events published
  std::uint64_t dropped = 0;  // events the writer had no room for
  bool operator==(const LaneState&) const = default;
};

// Ticks are in the segment's clock. `site` may also be the number of an operator use, a flow or a fact (format.h);
// 0 = calls of cached_cast whose site could not be given a counter.
struct CounterValues {
  std::uint32_t site = 0;
  std::uint64_t casts = 0, hits = 0, passes = 0, traced = 0, bytes = 0, ticks = 0, kept = 0;
  bool operator==(const CounterValues&) const = default;
};

struct ProcessState {
#define CASTSCOPE_WORD_OF_GAUGE(name, word, ...) std::uint64_t word = 0;
  CASTSCOPE_GAUGES(CASTSCOPE_WORD_OF_GAUGE)
#undef CASTSCOPE_WORD_OF_GAUGE
  // counts of threads that could get no lane
  std::uint64_t lost_events = 0;
  CounterValues lost, lost_other;
  bool operator==(const ProcessState&) const = default;
};

class SegmentReader {
 public:
  enum class Outcome {
    kOpen,
    kNotReady,  // the writer has not finished the header: try again
    kRefused,   // not a segment, or one of another version: see error
  };
  // `reader` is set when the outcome is kOpen.
  static Outcome open(const std::string& path, std::unique_ptr<SegmentReader>* reader, std::string* error);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  std::uint32_t pid() const { return pid_; }
  std::uint32_t parent_pid() const { return parent_pid_; }
  std::uint64_t start_ticks() const { return start_ticks_; }
  std::uint64_t begin_realtime_ns() const { return realtime0_ns_; }
  const std::string& path() const { return path_; }

  // "" while the segment can be read. Once it is set, nothing more can be read from the segment.
  const std::string& error() const { return error_; }
  // A sentence that says which part of the segment is damaged, of the damage that was met first; "" = none was met. The
  // reader goes on with the rest.
  const std::string& damage() const { return damage_; }

  EndMark end_mark() const;
  int exit_status() const;  // status given to exit(), -1 when not known
  ProcessState process_state();

  // Takes up what was added since (file growth, new lanes, a better clock rate). Returns false on an error: see
  // error().
  bool refresh();

  std::size_t lane_count() const { return lanes_.size(); }
  LaneState lane_state(std::size_t lane);
  // Appends up to `at_most` events of the lane to `events` and returns how many; `first` is the number of the first.
  // They stay in the ring (the writer may not overwrite them) until release().
  std::size_t take(std::size_t lane, std::size_t at_most, std::vector<Event>* events, std::uint64_t* first);
  // Gives the writer back the room of all events before number `end`; these must have been taken.
  void release(std::size_t lane, std::uint64_t end);
  std::uint64_t taken(std::size_t lane) const { return lanes_[lane].taken; }
  std::uint64_t released(std::size_t lane) const { return lanes_[lane].released; }
  std::uint32_t ring_capacity(std::size_t lane) const { return lanes_[lane].capacity; }
  // All counters of the lane, one row per site, overflow first. New rows are only ever added at the end.
  const std::vector<CounterValues>& counters(std::size_t lane);

  // Appends whole definition records, about `at_most` bytes (a single larger record is given whole), from where the
  // last call stopped. Returns false when there are no more for now. Read events and counters first: the definitions
  // read afterwards cover them.
  bool definitions(std::size_t at_most, std::string* records);
  struct DefinitionPosition {
    std::uint64_t block = 0, at = 0;  // offset of the block, offset in it; 0, 0 = the beginning
  };
  DefinitionPosition definition_position() const { return definition_; }
  void seek_definitions(DefinitionPosition position) { definition_ = position; }  // a position that it was at before

  const ClockConversion& clock() const { return conversion_; }

 private:
  struct LaneView {
    std::uint64_t offset = 0;
    std::uint32_t id = 0;
    bool events_end = false;  // its cursors make no sense: no more events are taken
    const Event* ring = nullptr;
    std::uint32_t capacity = 0;
    std::uint64_t taken = 0, released = 0;
    LaneState state;                    // as last read
    std::vector<std::uint64_t> blocks;  // offsets of the counter blocks
    std::vector<std::uint32_t> rows;    // counter i belongs to values[rows[i]]
    std::uint32_t other = 0;            // Lane::other belongs to values[other]
    std::unordered_map<std::uint32_t, std::uint32_t> row_of_site;
    std::vector<CounterValues> values;
  };
  SegmentReader() = default;
  template <typename T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const;
  bool fail(const std::string& what);
  void lose(const std::string& what);
  bool find_lane(std::uint64_t offset);
  bool find_ring(LaneView& view, const Lane& lane);
  bool find_counter_block(LaneView& view);
  bool update_limit();
  bool find_lanes();
  void add_lane(std::uint64_t offset, const Lane& lane);
  void find_counters(LaneView& view, std::uint64_t n);
  void learn_clock();

  std::string path_, error_, damage_;
  int fd_ = -1;
  char* base_ = nullptr;
  std::uint64_t mapped_ = 0;  // bytes of address space
  std::uint64_t limit_ = 0;   // bytes that may be read: the file has them and the writer has reserved them
  std::uint32_t pid_ = 0, parent_pid_ = 0;
  std::uint64_t start_ticks_ = 0, realtime0_ns_ = 0;
  Clock clock_kind_ = Clock::kMonotonicNs;
  ClockConversion conversion_;
  ProcessState state_;  // as last read
  std::vector<LaneView> lanes_;
  std::uint64_t last_lane_ = 0;  // its offset
  DefinitionPosition definition_;
};

}  // namespace castscope::lanes
