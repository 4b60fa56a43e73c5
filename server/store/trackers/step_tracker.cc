#include "server/store/trackers/step_tracker.h"

#include <algorithm>

#include "agent/hash/fnv1a.h"

namespace castscope::store {
namespace {

// FNV-1a over words, then a final mix: fingerprints live in files, so the function must never change.
class Fingerprint {
 public:
  void add(std::uint64_t word) {
    hash_ = castscope_fnv1a_step(hash_, word);
    hash_ ^= hash_ >> 29;
  }
  std::uint64_t value() const {
    std::uint64_t hash = hash_ * 0xbf58476d1ce4e5b9ull;
    return hash ^ (hash >> 32);
  }

 private:
  std::uint64_t hash_ = CASTSCOPE_FNV1A_START;
};

}  // namespace

void StepWork::merge(const StepWork& other) {
  sites.insert(sites.end(), other.sites.begin(), other.sites.end());
  enters.insert(enters.end(), other.enters.begin(), other.enters.end());
  clears += other.clears;
  cache_bytes = std::max(cache_bytes, other.cache_bytes);
  bytes += other.bytes;
  cpu_ns += other.cpu_ns;
  begin_ns = std::min(begin_ns, other.begin_ns);
  end_ns = std::max(end_ns, other.end_ns);
  incomplete |= other.incomplete;
  optimizer |= other.optimizer;
  backward |= other.backward;
  told |= other.told;
  deep |= other.deep;
}

void StepWork::order() {
  std::sort(sites.begin(), sites.end(), [](const AtSite& a, const AtSite& b) { return a.site < b.site; });
  std::size_t used = 0;
  for (const AtSite& at : sites) {
    if (used > 0 && sites[used - 1].site == at.site) {
      sites[used - 1].casts += at.casts;
      sites[used - 1].hits += at.hits;
    } else {
      sites[used++] = at;
    }
  }
  sites.resize(used);
  std::sort(enters.begin(), enters.end());
  used = 0;
  for (const auto& [region, times] : enters) {
    if (used > 0 && enters[used - 1].first == region) {
      enters[used - 1].second += times;
    } else {
      enters[used++] = {region, times};
    }
  }
  enters.resize(used);
}

std::uint64_t StepWork::fingerprint() const {
  Fingerprint print;
  print.add(sites.size());
  for (const AtSite& at : sites) {
    print.add(std::uint64_t{at.site} << 32 | at.casts);
    print.add(at.hits);
  }
  print.add(enters.size());
  for (const auto& [region, times] : enters) print.add(std::uint64_t{region} << 32 | times);
  print.add(clears);
  print.add(cache_bytes);
  return print.value();
}

void LaneSteps::enter(const lanes::Event& event) {
  auto& enters = work_.enters;
  if (!enters.empty() && enters.back().first == event.site) {
    ++enters.back().second;
  } else {
    enters.emplace_back(event.site, 1);
  }
  end(event);
}

void LaneSteps::clear(const lanes::Event& event) {
  ++work_.clears;
  work_.cache_bytes = std::max(work_.cache_bytes, event.bytes);
  end(event);
}

void StepTracker::turn(LaneSteps& steps, const lanes::Event& event) {
  flush(steps);
  steps.step_ = event.step;
  steps.seen_ = steps.open_ = true;
  steps.work_.begin_ns = static_cast<std::int64_t>(event.time);
  steps.work_.incomplete = steps.gap_;
  steps.work_.deep = steps.deep_;
  steps.gap_ = false;
  newest_ = std::max(newest_, event.step);
}

// What the first castscope.step() ends may be the evaluation of a loop that has trained before.
void StepTracker::begins(LaneSteps& steps, const lanes::Event& event) {
  const auto reason = static_cast<lanes::StepReason>(event.flags);
  const bool told = reason == lanes::StepReason::kExplicit;
  const bool ends_evaluation = told && !told_ && trained_;
  steps.work_.told |= told;
  told_ |= told;
  steps.end(event);
  const std::int64_t before = std::int64_t{event.step} - 1;
  if (before <= settled_ || ends_evaluation) return;
  if (!told && reason != lanes::StepReason::kOptimizer) return;
  StepWork& ended = open_[static_cast<std::uint32_t>(before)];
  (told ? ended.told : ended.optimizer) = true;
}

void StepTracker::flush(LaneSteps& steps) {
  if (!steps.open_) return;
  steps.open_ = false;
  trained_ |= steps.work_.trains();
  for (const std::uint32_t site : steps.touched_) {
    LaneSteps::AtSite& at = steps.sites_[site];
    steps.work_.sites.push_back({site, at.casts, at.hits});
    at = {};
  }
  steps.touched_.clear();
  if (std::int64_t{steps.step_} <= settled_) {
    mark_incomplete(steps.step_);
  } else {
    open_[steps.step_].merge(steps.work_);
  }
  steps.work_ = {};
}

void StepTracker::mark_incomplete(std::uint32_t step) {
  if (std::int64_t{step} > settled_) {
    open_[step].incomplete = true;
  } else if (std::find(late_.begin(), late_.end(), step) == late_.end()) {
    late_.push_back(step);
  }
}

void StepTracker::dropped(std::uint32_t lane) {
  LaneSteps& steps = lane_steps(lane);
  gap(lane);
  // From the last step this lane was seen in to the newest: any of them may lack events. A lane without a ring is never
  // seen: from the last step it was heard of.
  const std::uint32_t from = std::max<std::int64_t>(steps.step_, settled_ + 1);
  if (steps.open_) steps.work_.incomplete = true;
  for (auto it = open_.lower_bound(from); it != open_.end(); ++it) it->second.incomplete = true;
  mark_incomplete(steps.seen_ ? steps.step_ : newest_);
  if (!steps.seen_) steps.step_ = newest_;
}

void StepTracker::open_steps_may_lack_events() {
  for (auto& [step, work] : open_) work.incomplete = true;
  for (LaneSteps& steps : lanes_) steps.work_.incomplete |= steps.open_;
}

void StepTracker::settle(bool all, const std::function<void(std::uint32_t, StepWork&&)>& take) {
  std::int64_t below = -1;  // steps under this one are settled now
  if (all) {
    below = std::int64_t{newest_} + 1;
  } else if (newest_before_.size() == kLag) {
    below = newest_before_.front();
  }
  newest_before_.push_back(newest_);
  if (newest_before_.size() > kLag) newest_before_.pop_front();
  if (open_.size() > kMostOpenSteps) below = std::max<std::int64_t>(below, std::prev(open_.end())->first);
  if (below <= settled_ + 1 && !all) return;
  for (LaneSteps& steps : lanes_) {
    if (steps.open_ && steps.step_ < below) flush(steps);
  }
  while (!open_.empty() && open_.begin()->first < below) {
    auto node = open_.extract(open_.begin());
    if (node.key() == newest_ && node.key() > 0 && node.mapped().empty()) break;
    StepWork& work = node.mapped();
    // None of its events came: it lies between its neighbours.
    if (work.begin_ns > work.end_ns) work.begin_ns = work.end_ns = settled_end_ns_;
    settled_end_ns_ = std::max(settled_end_ns_, work.end_ns);
    take(node.key(), std::move(work));
  }
  settled_ = std::max(settled_, below - 1);
}

std::vector<std::uint32_t> StepTracker::take_late() {
  std::vector<std::uint32_t> late;
  late.swap(late_);
  return late;
}

void MedianTime::add(std::int64_t ns) {
  if (seen_++ % every_ != 0) return;
  sample_.push_back(ns);
  if (sample_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) sample_[i] = sample_[2 * i];
  sample_.resize(kMost / 2);
  every_ *= 2;
}

std::int64_t MedianTime::ns() const {
  if (sample_.empty()) return 0;
  std::vector<std::int64_t> sorted = sample_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

bool StepRuns::continues(std::uint32_t step, const StepWork& work, std::uint64_t fingerprint) const {
  if (!open_ || step != current_.last + 1) return false;
  const std::uint32_t length = current_.length();
  if (work.incomplete == current_.incomplete && current_.training_steps == (work.trains() ? length : 0)) {
    if (work.incomplete || (current_.behaviour != 0 && fingerprint == fingerprint_)) return true;
  }
  if (count_ < kFreeRuns) return false;
  return current_.behaviour == 0 ? length < kMixedSteps : length < kUniformSteps;
}

void StepRuns::begin(ProcessId process, std::uint32_t step, const StepWork& work, std::uint64_t fingerprint,
                     std::uint32_t behaviour) {
  current_ = {.process = process, .first = step, .last = step, .behaviour = behaviour, .incomplete = work.incomplete};
  current_.begin_ns = work.begin_ns;
  median_ = deep_median_ = {};
  fingerprint_ = fingerprint;
  open_ = true;
  ++count_;
}

void StepRuns::append(std::uint32_t step, const StepWork& work, std::uint64_t fingerprint) {
  if (fingerprint != fingerprint_ || work.incomplete) current_.behaviour = 0;
  current_.incomplete |= work.incomplete;
  current_.training_steps += work.trains() ? 1 : 0;
  current_.last = step;
  for (const StepWork::AtSite& at : work.sites) {
    current_.casts += at.casts;
    current_.hits += at.hits;
  }
  for (const auto& [region, times] : work.enters) current_.regions += times;
  current_.clears += work.clears;
  current_.bytes += work.bytes;
  current_.cpu_ns += work.cpu_ns;
  current_.cache_bytes = std::max(current_.cache_bytes, work.cache_bytes);
  current_.begin_ns = std::min(current_.begin_ns, work.begin_ns);
  current_.end_ns = std::max(current_.end_ns, work.end_ns);
  (work.deep ? deep_median_ : median_).add(std::max<std::int64_t>(0, work.end_ns - work.begin_ns));
}

bool StepRuns::mark_incomplete(std::uint32_t step) {
  if (!open_ || step < current_.first || step > current_.last) return false;
  current_.incomplete = true;
  return true;
}

}  // namespace castscope::store
