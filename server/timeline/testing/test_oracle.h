// For tests: computes the answers of a timeline in the plainest way: from a list of all intervals that is searched anew
// for each question. It also makes random events of lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "agent/lanes/event_views.h"
#include "server/timeline/testing/test_events.h"

namespace castscope::timeline {

struct Plain {
  store::ProcessId process = {};
  std::uint32_t lane = 0;
  TrackKind track{};
  std::uint32_t depth = 0, device = 0, stream = 0;
  ShadeKind kind{};
  std::uint8_t dtype = kNoDtype;
  std::uint32_t subject = 0;
  std::int64_t begin = 0, end = 0;
  std::uint64_t bytes = 0;
  bool continued = false, open = false;
  std::int64_t covered_to() const { return std::max(end, begin + 1); }
  bool touches(std::int64_t from, std::int64_t to) const { return begin < to && covered_to() > from; }
  // Kernels may come from any lane.
  auto place() const {
    return std::tuple(process, track == TrackKind::kKernels ? 0 : lane, track, depth, device, stream);
  }
};
inline auto place_of(const Track& t) {
  const std::uint32_t lane = t.kind == TrackKind::kKernels ? 0 : t.lane;
  return std::tuple(t.process, lane, t.kind, t.depth, t.device, t.stream);
}

// Feeds a timeline with random events of one process, and keeps the intervals that should come of them.
class Chance {
 public:
  Chance(Timeline& timeline, store::ProcessId process, std::uint32_t seed, std::int64_t begin = 0)
      : timeline_(timeline), process_(process), begin_(begin), random_(seed) {
    timeline.process_begin(process, begin);
  }

  // Feeds `n` events of one lane in one batch.
  void go_on(std::uint32_t lane_id, std::size_t n) {
    Lane& lane = lanes_[lane_id];
    std::vector<lanes::Event> events;
    pace_ = std::array{20, 300, 5'000, 2'000'000}[below(4)];
    while (events.size() < n) happen(lane_id, lane, events);
    run_kernels(events);
    if (!told_late(events.back().kind)) lane.seen_to = std::max(lane.seen_to, lane.now);
    timeline_.feed(numbers_, process_, lane_id, events);
    timeline_.settle();
  }
  void gap() {
    timeline_.gap(process_);
    close();
  }
  void close() {
    for (auto& [id, lane] : lanes_) close_regions(id, lane, lane.seen_to);
    if (step_) {
      std::int64_t last = 0;
      for (auto& [id, lane] : lanes_) last = std::max(last, lane.seen_to);
      end_step(last);
    }
  }
  // Returns all intervals, including the open ones.
  std::vector<Plain> all(std::int64_t newest) const {
    std::vector<Plain> all = done_;
    const auto add = [&](Plain open) {
      open.end = std::max(newest, open.begin);
      open.open = true;
      all.push_back(open);
    };
    if (step_) add(*step_);
    for (const auto& [id, lane] : lanes_) {
      if (lane.stretch) add(*lane.stretch);
    }
    return all;
  }

 private:
  struct Open {
    std::uint32_t region;
    bool drawn = false;
  };
  struct Lane {
    std::int64_t now = 0, seen_to = 0;
    std::vector<Open> open;
    std::optional<Plain> stretch;
    std::map<std::uint32_t, std::int64_t> operators_until;
    std::uint32_t looked_in = 0;  // the step of the last operator
  };

  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }
  std::int64_t delay() { return static_cast<std::int64_t>(below(static_cast<std::uint32_t>(pace_)) + 1); }

  lanes::Event& emit(Lane& lane, std::vector<lanes::Event>& events, lanes::EventKind kind, std::uint32_t id = 0) {
    lane.now += delay();
    if (lane.now < begin_) lane.now = begin_ + delay();
    return events.emplace_back(event(kind, lane.now - begin_, id == 0 ? 0 : TestNumbers::local(process_, id)));
  }
  Plain plain(std::uint32_t lane, TrackKind track, ShadeKind kind, std::uint32_t subject, std::int64_t time) const {
    Plain made;
    made.process = process_;
    made.lane = lane;
    made.track = track;
    made.kind = kind;
    made.subject = subject;
    made.begin = made.end = time;
    return made;
  }

  void happen(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events) {
    const std::uint32_t what = below(100);
    if (what < 45) return cast(id, lane, events);
    if (what < 70) return served(id, lane, events, what < 60 ? lanes::EventKind::kHit : lanes::EventKind::kPass);
    if (what < 78 && lane.open.size() < 5) return enter(id, lane, events);
    if (what < 86 && !lane.open.empty()) return exit(id, lane, events);
    if (what < 88) return step(lane, events);
    if (what < 92) return clear(id, lane, events);
    if (what < 96) return operate(id, lane, events);
    if (what < 97) return launch(lane, events);
    if (what < 98) {
      emit(lane, events, lanes::EventKind::kThread);
      return close_regions(id, lane, lane.now);
    }
    emit(lane, events, lanes::EventKind::kOptimizer);
    done_.push_back(plain(id, TrackKind::kMarks, ShadeKind::kOptimizer, 0, lane.now));
  }

  void cast(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events) {
    const std::uint32_t site = below(4) + 1;
    lanes::Event& made = emit(lane, events, lanes::EventKind::kCast, site);
    made.duration = below(8) == 0 ? 0 : static_cast<std::uint32_t>(delay() * (below(20) == 0 ? 500 : 1));
    made.bytes = below(1000);
    const ShadeKind kinds[] = {ShadeKind::kDown, ShadeKind::kUp, ShadeKind::kSame, ShadeKind::kDown};
    Plain cast = plain(id, TrackKind::kCasts, kinds[site - 1], site, lane.now);
    cast.dtype = site == TestNumbers::kUpSite ? kFloat : kBrain;
    cast.bytes = made.bytes;
    cast.end = lane.now += made.duration;
    done_.push_back(cast);
  }
  void served(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events, lanes::EventKind kind) {
    emit(lane, events, kind, TestNumbers::kWeightSite);
    const bool hit = kind == lanes::EventKind::kHit;
    Plain served = plain(id, TrackKind::kCasts, hit ? ShadeKind::kHit : ShadeKind::kPass, 4, lane.now);
    served.dtype = hit ? kBrain : kFloat;
    done_.push_back(served);
  }
  void clear(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events) {
    emit(lane, events, lanes::EventKind::kCacheClear).bytes = 7;
    done_.push_back(plain(id, TrackKind::kMarks, ShadeKind::kClear, 0, lane.now));
    done_.back().bytes = 7;
  }
  // Makes two operators of depth 1 in one of depth 0, reported as they end; the lane's clock has gone on meanwhile.
  void operate(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events) {
    const std::int64_t begin = lane.now, length = delay() * 4;
    lane.now += length + delay();
    const std::int64_t parts[][3] = {
        {1, begin + 1, length / 3}, {1, begin + 1 + length / 3, length / 3}, {0, begin, length}};
    for (const auto& [depth, from, ns] : parts) {
      const std::uint32_t use = below(3) + 1;
      lanes::Event made =
          event(lanes::EventKind::kOperator, std::max(from, begin_) - begin_, TestNumbers::local(process_, use));
      made.duration = static_cast<std::uint32_t>(ns);
      made.flags = static_cast<std::uint8_t>(depth);
      if (steps_ > 0) made.step = steps_;
      events.push_back(made);
      std::int64_t& until = lane.operators_until[static_cast<std::uint32_t>(depth)];
      Plain operation = plain(id, TrackKind::kOperators, ShadeKind::kOperator, use, 0);
      operation.depth = static_cast<std::uint32_t>(depth);
      operation.dtype = use == 1 ? kBrain : kFloat;
      operation.begin = std::max(std::max(from, begin_), until);
      operation.end = until = std::max(operation.begin, std::max(from, begin_) + ns);
      done_.push_back(operation);
      lane.seen_to = std::max(lane.seen_to, operation.end);
    }
    if (lane.looked_in == steps_) return;
    lane.looked_in = steps_;
    if (deep_ && step_ && std::max(begin + 1, begin_) >= step_->begin) step_->kind = ShadeKind::kStepDeep;
  }

  static bool told_late(lanes::EventKind kind) {
    return kind == lanes::EventKind::kOperator || kind == lanes::EventKind::kKernel;
  }
  // Makes some kernels of two streams, in no order; now and then one begins before another is over.
  void launch(const Lane& lane, std::vector<lanes::Event>& events) {
    for (std::uint32_t i = below(6) + 1; i > 0; --i) {
      const std::int64_t begin = std::max<std::int64_t>(lane.now - begin_ - delay() * 2, 0);
      const std::uint32_t number = TestNumbers::local(process_, below(3) + 1);
      events.push_back(kernel_event(begin, begin + delay(), number, below(2), below(2)));
      events.back().bytes = below(100);
    }
  }
  // Computes how the device ran a batch's kernels.
  void run_kernels(std::span<const lanes::Event> events) {
    std::vector<const lanes::Event*> kernels;
    for (const lanes::Event& one : events)
      if (one.kind == lanes::EventKind::kKernel) kernels.push_back(&one);
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const lanes::Event* a, const lanes::Event* b) { return a->time < b->time; });
    const ShadeKind kinds[] = {ShadeKind::kCastKernel, ShadeKind::kKernel, ShadeKind::kGpuCopy};
    for (const lanes::Event* kernel : kernels) {
      const lanes::Event& one = *kernel;
      const std::uint32_t id = one.site - TestNumbers::local(process_, 0);
      Plain ran = plain(0, TrackKind::kKernels, kinds[id - 1], id, begin_ + static_cast<std::int64_t>(one.time));
      ran.dtype = id == TestNumbers::kCopyKernel ? kNoDtype : kBrain;
      ran.bytes = one.bytes;
      ran.device = as_kernel(one).device, ran.stream = as_kernel(one).stream;
      std::vector<std::int64_t>& until = streams_until_[{ran.device, ran.stream}];
      while (ran.depth < until.size() && until[ran.depth] > ran.begin) ++ran.depth;
      const std::int64_t end = ran.begin + one.duration;
      if (ran.depth == 4) ran.begin = std::max(ran.begin, until[--ran.depth]);
      until.resize(std::max<std::size_t>(until.size(), ran.depth + 1));
      ran.end = until[ran.depth] = std::max(ran.begin, end);
      done_.push_back(ran);
    }
  }

  void enter(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events) {
    const std::uint32_t region = below(3) + 1;
    emit(lane, events, lanes::EventKind::kRegionEnter, region);
    end_stretch(lane, lane.now);
    lane.open.push_back({region});
    begin_stretch(id, lane);
  }
  void exit(std::uint32_t id, Lane& lane, std::vector<lanes::Event>& events) {
    const auto depth = below(static_cast<std::uint32_t>(lane.open.size()));
    const std::uint32_t region = lane.open[depth].region;
    emit(lane, events, lanes::EventKind::kRegionExit, region);
    end_stretch(lane, lane.now);
    while (lane.open.back().region != region) lane.open.pop_back();
    lane.open.pop_back();
    if (!lane.open.empty()) begin_stretch(id, lane);
  }
  void begin_stretch(std::uint32_t id, Lane& lane) {
    const std::uint32_t region = lane.open.back().region;
    const bool on = region != TestNumbers::kOffRegion;
    lane.stretch = plain(id, TrackKind::kRegions, on ? ShadeKind::kRegion : ShadeKind::kRegionOff, region, lane.now);
    lane.stretch->dtype = region == 1 ? kBrain : region == 2 ? kHalf : kFloat;
    lane.stretch->continued = lane.open.back().drawn;
  }
  void end_stretch(Lane& lane, std::int64_t time) {
    if (lane.stretch && time > lane.stretch->begin) {
      lane.stretch->end = time;
      done_.push_back(*lane.stretch);
      lane.open.back().drawn = true;
    }
    lane.stretch.reset();
  }
  void close_regions(std::uint32_t, Lane& lane, std::int64_t time) {
    end_stretch(lane, time);
    lane.open.clear();
  }

  void step(Lane& lane, std::vector<lanes::Event>& events) {
    emit(lane, events, lanes::EventKind::kStep).step = ++steps_;
    end_step(lane.now);
    step_ = plain(0, TrackKind::kSteps, ShadeKind::kStep, steps_, std::max(lane.now, step_until_));
    step_until_ = step_->begin;
    if (below(3) != 0) return;
    lanes::Event made = event(lanes::EventKind::kDeep, lane.now - begin_);
    made.flags = below(2);
    deep_ = made.flags == 1;
    events.push_back(made);
  }
  void end_step(std::int64_t time) {
    if (step_ && time > step_->begin) {
      step_->end = step_until_ = time;
      done_.push_back(*step_);
    }
    step_.reset();
  }

  Timeline& timeline_;
  const TestNumbers numbers_;
  const store::ProcessId process_;
  const std::int64_t begin_;
  std::mt19937 random_;
  std::int64_t pace_ = 1;
  std::map<std::uint32_t, Lane> lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> streams_until_;  // by depth
  std::optional<Plain> step_;
  std::int64_t step_until_ = 0;
  std::uint32_t steps_ = 0;
  bool deep_ = false;
  std::vector<Plain> done_;
};

}  // namespace castscope::timeline
