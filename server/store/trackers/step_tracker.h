// Turns the events of one process into steps: what each step did, and runs of steps that did the same.
//
// Lanes are read one after the other, so the events of a step arrive in several blocks. A step is settled when a
// later one has been seen and `settle` has been called often enough since; what comes even later marks the step
// incomplete.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

// Left out where the ring has little room, so that no step is made of them; and in the order of their ends, a GPU's
// long after the step.
inline bool is_picture_only(lanes::EventKind kind) {
  return kind == lanes::EventKind::kOperator || kind == lanes::EventKind::kPass || kind == lanes::EventKind::kKernel;
}

// The work of one step, in the numbers of the process.
struct StepWork {
  struct AtSite {
    std::uint32_t site = 0, casts = 0, hits = 0;
  };
  std::vector<AtSite> sites;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> enters;  // (region, times)
  std::uint64_t clears = 0, cache_bytes = 0, bytes = 0, cpu_ns = 0;
  std::int64_t begin_ns = INT64_MAX, end_ns = 0;
  bool incomplete = false;
  bool optimizer = false;  // it stepped, or was tried
  bool backward = false;   // it was called
  bool told = false;       // castscope.step() began or ended it
  bool deep = false;       // operators were looked at, which takes time
  bool trains() const { return optimizer || backward || told; }

  // Nothing was begun in it: a step that only began, or in which a region of the step before was left.
  bool empty() const { return sites.empty() && enters.empty() && !optimizer && !incomplete; }
  void merge(const StepWork& other);
  void order();  // sites and enters, each once
  // Equal for steps that did the same, whatever the times and the sizes of the data. Wants it ordered.
  std::uint64_t fingerprint() const;
};

// The accumulator of one lane: dense, so that an event costs an increment. Handed out by StepTracker.
class LaneSteps {
 public:
  std::uint32_t step() const { return step_; }
  void cast(const lanes::Event& event) {
    AtSite& at = touch(event.site);
    ++at.casts;
    work_.bytes += event.bytes;
    work_.cpu_ns += event.duration;
    end(event);
  }
  void hit(const lanes::Event& event) {
    ++touch(event.site).hits;
    end(event);
  }
  void enter(const lanes::Event& event);
  void clear(const lanes::Event& event);
  void optimizer(const lanes::Event& event) {
    work_.optimizer = true;
    end(event);
  }
  void backward(const lanes::Event& event) {
    work_.backward = true;
    end(event);
  }
  void deep(const lanes::Event& event) {
    deep_ = (event.flags & 1) != 0;
    work_.deep |= deep_;
    end(event);
  }
  void other(const lanes::Event& event) { end(event); }

 private:
  friend class StepTracker;
  struct AtSite {
    std::uint32_t casts = 0, hits = 0;
  };
  AtSite& touch(std::uint32_t site) {
    if (site >= sites_.size()) sites_.resize(site + 256);
    AtSite& at = sites_[site];
    if ((at.casts | at.hits) == 0) touched_.push_back(site);
    return at;
  }
  void end(const lanes::Event& event) {
    const auto end = static_cast<std::int64_t>(event.time + event.duration);
    if (end > work_.end_ns) work_.end_ns = end;
  }
  std::uint32_t step_ = 0;
  bool seen_ = false, open_ = false;
  bool gap_ = false;           // events of this lane were dropped before the next one
  bool deep_ = false;          // every operator is looked at
  std::vector<AtSite> sites_;  // by site
  std::vector<std::uint32_t> touched_;
  StepWork work_;
};

class StepTracker {
 public:
  // The lane's accumulator for `event`; call before its cast(), hit(), …
  LaneSteps& at(std::uint32_t lane, const lanes::Event& event) {
    LaneSteps& steps = lane_steps(lane);
    if (event.step != steps.step_ || !steps.open_) [[unlikely]]
      turn(steps, event);
    return steps;
  }
  // The event tells that the step begins, and what ended the one before.
  void begins(LaneSteps&, const lanes::Event&);
  // More events of the lane were dropped since the last time.
  void dropped(std::uint32_t lane);
  // An earlier life of the file has written every step up to this one.
  void already(std::int64_t settled) { settled_ = settled; }
  // The next step the lane is seen in lacks what came before.
  void gap(std::uint32_t lane) { lane_steps(lane).gap_ = true; }
  // Events of any step that is open may be missing.
  void open_steps_may_lack_events();
  // Settled steps, in order, each once, not yet ordered inside. `all` at the end of the process: a last step in which
  // nothing was begun is none (castscope.step() after the last one of n steps makes no n + 1).
  void settle(bool all, const std::function<void(std::uint32_t step, StepWork&&)>& take);
  // Steps that turned out incomplete after they had been settled; empties the list.
  std::vector<std::uint32_t> take_late();

 private:
  LaneSteps& lane_steps(std::uint32_t lane) {
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    return lanes_[lane];
  }
  void turn(LaneSteps&, const lanes::Event&);
  void flush(LaneSteps&);
  void mark_incomplete(std::uint32_t step);

  // Calls of settle() that a step stays open after a later one was seen: every lane has been read in between.
  static constexpr std::size_t kLag = 4;
  static constexpr std::size_t kMostOpenSteps = 1 << 14;

  std::deque<LaneSteps> lanes_;  // by lane
  std::map<std::uint32_t, StepWork> open_;
  bool trained_ = false;  // a step was no evaluation
  bool told_ = false;     // castscope.step() was called
  std::uint32_t newest_ = 0;
  std::deque<std::uint32_t> newest_before_;  // newest_ at the last kLag calls of settle()
  std::int64_t settled_ = -1;                // every step up to this one is
  std::int64_t settled_end_ns_ = 0;          // the latest end of those
  std::vector<std::uint32_t> late_;
};

// The median of how long steps took, of a sample of them that stays small: every step at first, then every second,
// every fourth, …
class MedianTime {
 public:
  void add(std::int64_t ns);
  std::int64_t ns() const;  // 0 without a step

 private:
  static constexpr std::size_t kMost = 128;
  std::vector<std::int64_t> sample_;
  std::uint64_t seen_ = 0, every_ = 1;
};

// Appends settled steps to runs of equal steps. Bounded: when there are many runs, steps that differ are put together.
class StepRuns {
 public:
  // From this many runs on, runs are `kMixedSteps` long at least.
  static constexpr std::size_t kFreeRuns = 2048;
  static constexpr std::uint32_t kUniformSteps = 64;
  static constexpr std::uint32_t kMixedSteps = 1024;

  // Does the step prolong the current run? Else begin() one; the one before is then final.
  bool continues(std::uint32_t step, const StepWork&, std::uint64_t fingerprint) const;
  void begin(ProcessId process, std::uint32_t step, const StepWork&, std::uint64_t fingerprint,
             std::uint32_t behaviour);
  void append(std::uint32_t step, const StepWork&, std::uint64_t fingerprint);
  // The step turned out incomplete. False when it is not of the current run.
  bool mark_incomplete(std::uint32_t step);
  const StepRun& current() const { return current_; }
  // Of the current run's steps; deep ones count where there are no others.
  std::int64_t median_ns() const { return median_.ns() > 0 ? median_.ns() : deep_median_.ns(); }
  void already(std::size_t runs) { count_ = runs; }  // of an earlier life of the file

 private:
  StepRun current_;
  MedianTime median_, deep_median_;  // of steps that were not deep, and of those that were
  std::uint64_t fingerprint_ = 0;
  bool open_ = false;
  std::size_t count_ = 0;
};

}  // namespace castscope::store
