#include "server/timeline/tracks/track_builder.h"

#include <algorithm>
#include <bit>

namespace castscope::timeline {
namespace {

using lanes::EventKind;

Item instant(std::int64_t time, std::uint32_t subject, std::uint64_t bytes = 0) {
  return {time, time, with_flags(std::min(bytes, kMostItemBytes), 0), subject};
}

}  // namespace

void TrackBuilder::process_begin(store::ProcessId process, std::int64_t begin) { processes_[process].begin = begin; }

void TrackBuilder::feed(const Numbers& numbers, store::ProcessId process, std::uint32_t lane,
                        std::span<const lanes::Event> events) {
  Process& fed = processes_[process];
  if (!fed.cache.begun()) fed.cache.begin(std::clamp<std::int64_t>(fed.begin, 0, kLatestTime));
  Place place{numbers, process, lane, fed, fed.lanes[lane]};
  kernels_.clear();
  if (fed.missing_since && !events.empty()) {
    const std::int64_t again = since_run_began(place, events.front().time);
    if (again > *fed.missing_since) fed.missing.emplace_back(*fed.missing_since, again);
    fed.missing_since.reset();
  }
  for (const lanes::Event& event : events) {
    if (event.kind == EventKind::kKernel)
      kernels_.push_back(&event);
    else
      add_event(place, event);
  }
  run_fed_kernels(place);
  events_ += events.size();
  holdings_.fit();
}

void TrackBuilder::settle(store::ProcessId process, std::int64_t time) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  const bool all = time > kLatestTime - found->second.begin;
  settle(process, found->second, all ? INT64_MAX : time + found->second.begin);
}

void TrackBuilder::settle() {
  for (auto& [id, process] : processes_) settle(id, process, INT64_MAX);
}

void TrackBuilder::settle(store::ProcessId id, Process& process, std::int64_t time) {
  std::vector<Shared>& waiting = process.waiting;
  const auto sooner = [](const Shared& a, const Shared& b) { return a.time < b.time; };
  if (!std::is_sorted(waiting.begin(), waiting.end(), sooner)) std::stable_sort(waiting.begin(), waiting.end(), sooner);
  const std::size_t before = process.cache.memory();
  auto next = waiting.begin();
  for (; next != waiting.end() && next->time <= time; ++next) {
    switch (next->kind) {
      case EventKind::kStep:
        step(id, process, next->time, static_cast<std::uint32_t>(next->number));
        break;
      case EventKind::kDeep:
        process.deep = next->number == 1;
        break;
      case EventKind::kOperator:
        deep(process, next->time, static_cast<std::uint32_t>(next->number));
        break;
      case EventKind::kCacheClear:
        process.cache.cleared(next->time, next->number);
        break;
      default:
        process.cache.kept(next->time, next->number);
    }
  }
  waiting.erase(waiting.begin(), next);
  holdings_.changed(before, process.cache.memory());
}

void TrackBuilder::gap(store::ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  settle(process, found->second, INT64_MAX);
  close(found->second);
  std::int64_t last = 0;
  for (const auto& [id, lane] : found->second.lanes) last = std::max(last, lane.seen_to);
  found->second.cache.gap(last);
  if (!found->second.missing_since) found->second.missing_since = last;
}

void TrackBuilder::end(store::ProcessId process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  settle(process, found->second, INT64_MAX);
  close(found->second);
}

void TrackBuilder::end() {
  settle();
  for (auto& [id, process] : processes_) close(process);
}

void TrackBuilder::close(Process& process) {
  std::int64_t last = 0;
  for (auto& [id, lane] : process.lanes) {
    close_regions(lane, lane.seen_to);
    leave_modules(lane, 0);
    last = std::max(last, lane.seen_to);
  }
  if (process.steps != nullptr) process.steps->end(last, holdings_);
}

const Row* TrackBuilder::steps_of(store::ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? nullptr : found->second.steps;
}

std::int64_t TrackBuilder::missing(store::ProcessId process, std::int64_t from, std::int64_t to) const {
  std::int64_t all = 0;
  if (const auto found = processes_.find(process); found != processes_.end()) {
    for (const auto& [begin, end] : found->second.missing)
      all += std::max<std::int64_t>(std::min(end, to) - std::max(begin, from), 0);
  }
  return all;
}

std::vector<std::pair<std::int64_t, std::int64_t>> TrackBuilder::missing(store::ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? std::vector<std::pair<std::int64_t, std::int64_t>>() : found->second.missing;
}

const Row* TrackBuilder::regions_of(store::ProcessId process, std::uint32_t lane) const {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return nullptr;
  const auto of = found->second.lanes.find(lane);
  return of == found->second.lanes.end() ? nullptr : of->second.regions;
}

void TrackBuilder::each_counter(const std::function<void(store::ProcessId process, const CacheCounter&)>& take) const {
  for (const auto& [id, process] : processes_) {
    if (process.cache.ever()) take(id, process.cache);
  }
}

std::size_t TrackBuilder::memory() const {
  std::size_t bytes = holdings_.memory() + rows_.size() * sizeof(Row);
  for (const Row& row : rows_) bytes += row.series.size() * (sizeof(Series) + sizeof(void*)) + row.tiles.memory();
  for (const auto& [id, process] : processes_) {
    bytes += sizeof(Process) + process.lanes.size() * sizeof(Lane) + process.waiting.capacity() * sizeof(Shared);
    const auto of = [](const Numbered& numbers) { return numbers.capacity() * (sizeof(Numbered::value_type) + 1); };
    bytes += of(process.regions) + of(process.uses) + of(process.kernels);
    bytes += process.streams.size() * sizeof(decltype(process.streams)::value_type);
    for (const Numbered& sites : process.sites) bytes += of(sites);
    for (const auto& [use, levels] : process.levels) bytes += sizeof(levels) + levels.capacity() * sizeof(levels[0]);
  }
  return bytes;
}

std::size_t TrackBuilder::tile_places() const {
  const std::size_t fit = tiles_budget_ / (rows_.size() * Tiles::memory_of(1) + 1);
  return std::bit_floor(std::clamp<std::size_t>(fit, 1, Tiles::kMostPlaces));
}

std::int64_t TrackBuilder::since_run_began(const Place& place, std::uint64_t time) const {
  const auto since = static_cast<std::int64_t>(static_cast<std::uint64_t>(place.process.begin) + time);
  return std::clamp<std::int64_t>(since, 0, kLatestTime);
}

Row& TrackBuilder::row(Row*& known, store::ProcessId process, std::uint32_t lane, TrackKind kind, std::uint32_t depth) {
  if (known == nullptr) {
    known = &rows_.emplace_back();
    known->track = {static_cast<std::uint32_t>(rows_.size()), process, lane, kind, depth};
  }
  return *known;
}

void TrackBuilder::saw(Lane& lane, std::int64_t begin, std::int64_t end) {
  begin_ = std::min(begin_, begin);
  newest_ = std::max(newest_, end);
  lane.seen_to = std::max(lane.seen_to, end);
}

void TrackBuilder::add_event(Place& place, const lanes::Event& event) {
  if (event.kind == EventKind::kOperator) return operate(place, event);
  const std::int64_t time = std::max(since_run_began(place, event.time), place.lane.last);
  place.lane.last = time;
  saw(place.lane, time, time);
  if (event.kind != EventKind::kThread) begin_first_step(place, time, event);
  if (event.kind == EventKind::kPass) return served(place, time, event, Shown::kPass);
  switch (event.kind) {
    case EventKind::kCast:
      return cast(place, time, event);
    case EventKind::kHit:
      return served(place, time, event, Shown::kHit);
    case EventKind::kRegionEnter:
      return enter(place, time, event);
    case EventKind::kRegionExit:
      return exit(place, time, event);
    case EventKind::kThread:
      leave_modules(place.lane, 0);
      return close_regions(place.lane, time);
    case EventKind::kStep:
      place.process.waiting.push_back({time, event.step, EventKind::kStep});
      return;
    case EventKind::kDeep:
      ++place.process.deep_changes;
      place.process.waiting.push_back({time, event.flags & 1u, EventKind::kDeep});
      return;
    case EventKind::kCacheClear:
      place.process.waiting.push_back({time, event.bytes, EventKind::kCacheClear});
      return mark(place, time, ShadeKind::kClear, 0, event.bytes);
    case EventKind::kOptimizer:
      return mark(place, time, ShadeKind::kOptimizer, event.site);
    case EventKind::kScaler:
      return mark(place, time, ShadeKind::kScaler, event.site);
    case EventKind::kBackward:
      return mark(place, time, ShadeKind::kBackward, event.site);
    case EventKind::kValues:
      return mark(place, time, ShadeKind::kValues, 0);
    default:
      return;
  }
}

// No event announces the first step: it begins with the first event in it.
void TrackBuilder::begin_first_step(Place& place, std::int64_t time, const lanes::Event& event) {
  if (place.lane.begun) return;
  place.lane.begun = true;
  if (event.step == 0) place.process.waiting.push_back({time, 0, EventKind::kStep});
}

void TrackBuilder::cast(Place& place, std::int64_t time, const lanes::Event& event) {
  const Known known = site(place, event.site, Shown::kCast);
  const bool kept = event.flags & lanes::kFlagKept;
  const std::int64_t end = std::min(time + event.duration, std::max(time, kLatestTime));
  Row& casts = row(place.lane.casts, place.process_id, place.lane_id, TrackKind::kCasts);
  const std::uint64_t flags = kept ? kKept : 0;
  casts.add(known.shade, {time, end, with_flags(std::min(event.bytes, kMostItemBytes), flags), known.id}, holdings_);
  if (kept) place.process.waiting.push_back({end, event.bytes, EventKind::kCast});
  place.lane.last = end;
  saw(place.lane, time, end);
}

void TrackBuilder::served(Place& place, std::int64_t time, const lanes::Event& event, Shown shown) {
  const Known known = site(place, event.site, shown);
  Row& casts = row(place.lane.casts, place.process_id, place.lane_id, TrackKind::kCasts);
  casts.add(known.shade, instant(time, known.id), holdings_);
}

void TrackBuilder::enter(Place& place, std::int64_t time, const lanes::Event& event) {
  const Known known = region(place, event.site);
  Row& regions = row(place.lane.regions, place.process_id, place.lane_id, TrackKind::kRegions);
  end_stretch(place.lane, time);
  place.lane.open.push_back({event.site, known});
  regions.begin(known.shade, instant(time, known.id));
}

void TrackBuilder::exit(Place& place, std::int64_t time, const lanes::Event& event) {
  std::vector<OpenRegion>& open = place.lane.open;
  // The region's begin may have been dropped, or the ends of regions inside it.
  const auto found =
      std::find_if(open.rbegin(), open.rend(), [&](const OpenRegion& of) { return of.local == event.site; });
  if (found == open.rend()) return;
  end_stretch(place.lane, time);
  open.resize(static_cast<std::size_t>(open.rend() - found) - 1);
  if (open.empty()) return;
  Item goes_on = instant(time, open.back().known.id);
  goes_on.bytes_and_flags = open.back().drawn ? kContinued : 0;
  place.lane.regions->begin(open.back().known.shade, goes_on);
}

void TrackBuilder::end_stretch(Lane& lane, std::int64_t time) {
  if (!lane.open.empty() && lane.regions->end(time, holdings_)) lane.open.back().drawn = true;
}

void TrackBuilder::close_regions(Lane& lane, std::int64_t time) {
  end_stretch(lane, time);
  lane.open.clear();
}

void TrackBuilder::step(store::ProcessId id, Process& process, std::int64_t time, std::uint32_t number) {
  Row& steps = row(process.steps, id, 0, TrackKind::kSteps);
  if (number == 0 && (steps.open || steps.last > 0)) return;  // the first event of another thread
  // The step came too late after all: the open one already has the right name.
  if (steps.open && time < steps.open->item.begin && number < steps.open->item.subject) return;
  steps.end(time, holdings_);
  steps.begin(shades_.of(TrackKind::kSteps, ShadeKind::kStep), instant(time, number));
}

// In any step some operators may be observed (those that follow an optimizer's, say); in a deep step all are, and a
// deep phase may last for several steps.
void TrackBuilder::deep(Process& process, std::int64_t time, std::uint32_t number) {
  Row* steps = process.steps;
  if (!process.deep || steps == nullptr || !steps->open) return;
  if (time < steps->open->item.begin || number != steps->open->item.subject) return;
  steps->open->shade = shades_.of(TrackKind::kSteps, ShadeKind::kStepDeep);
}

void TrackBuilder::operate(Place& place, const lanes::Event& event) {
  const Known known = use(place, event.site);
  if (place.lane.operators.size() <= event.flags) place.lane.operators.resize(event.flags + std::size_t{1});
  Row& operators =
      row(place.lane.operators[event.flags], place.process_id, place.lane_id, TrackKind::kOperators, event.flags);
  const std::int64_t begin = since_run_began(place, event.time);
  const std::int64_t end = std::min(begin + event.duration, kLatestTime);
  begin_first_step(place, begin, event);
  const Item operation = {begin, end, with_flags(std::min(event.bytes, kMostItemBytes), 0), known.id};
  operators.add(known.shade, operation, holdings_);
  if (event.flags == 0) work_in_module(place, event, operation);
  saw(place.lane, begin, end);
  // One is enough, unless the deep step begins after it: the first step begins before castscope looks deeply.
  const std::pair<std::uint32_t, std::uint32_t> now{event.step, place.process.deep_changes};
  if (now == place.lane.looked_in) return;
  place.lane.looked_in = now;
  place.process.waiting.push_back({begin, event.step, EventKind::kOperator});
}

void TrackBuilder::mark(Place& place, std::int64_t time, ShadeKind kind, std::uint32_t local, std::uint64_t bytes) {
  const store::FactId fact = local == 0 ? store::FactId() : place.numbers.fact(place.process_id, local);
  row(place.lane.marks, place.process_id, place.lane_id, TrackKind::kMarks)
      .add(shades_.of(TrackKind::kMarks, kind), instant(time, fact, bytes), holdings_);
}

TrackBuilder::Known TrackBuilder::site(Place& place, std::uint32_t local, Shown shown) {
  Numbered& numbered = place.process.sites[static_cast<std::size_t>(shown)];
  const auto cached = numbered.find(local);
  if (cached != numbered.end()) return cached->second;
  const store::Site* site = place.numbers.site(place.process_id, local);
  const bool dtypes = site != nullptr && site->has_dtypes();
  const std::uint8_t from = dtypes ? site->from : kNoDtype, to = dtypes ? site->to : kNoDtype;
  const lanes::Cause cause = site == nullptr ? lanes::Cause::kUnknown : site->cause;
  const ShadeKind kind = shown == Shown::kHit    ? ShadeKind::kHit
                         : shown == Shown::kPass ? ShadeKind::kPass
                                                 : cast_kind(from, to);
  const std::uint8_t dtype = shown == Shown::kPass ? from : to;
  const Known known{site == nullptr ? 0 : site->id.number(), shades_.of(TrackKind::kCasts, kind, dtype, cause)};
  if (site != nullptr) numbered.emplace(local, known);
  return known;
}

TrackBuilder::Known TrackBuilder::region(Place& place, std::uint32_t local) {
  const auto cached = place.process.regions.find(local);
  if (cached != place.process.regions.end()) return cached->second;
  const store::Region* region = place.numbers.region(place.process_id, local);
  const bool on = region == nullptr || region->enabled;
  const Known known{region == nullptr ? 0 : region->id.number(),
                    shades_.of(TrackKind::kRegions, on ? ShadeKind::kRegion : ShadeKind::kRegionOff,
                               region == nullptr ? kNoDtype : region->dtype)};
  if (region != nullptr) place.process.regions.emplace(local, known);
  return known;
}

TrackBuilder::Known TrackBuilder::use(Place& place, std::uint32_t local) {
  const auto cached = place.process.uses.find(local);
  if (cached != place.process.uses.end()) return cached->second;
  const store::OperatorUse* use = place.numbers.operator_use(place.process_id, local);
  const Known known{use == nullptr ? 0 : use->id.number(),
                    shades_.of(TrackKind::kOperators, ShadeKind::kOperator, use == nullptr ? kNoDtype : use->computed)};
  if (use != nullptr) place.process.uses.emplace(local, known);
  return known;
}

}  // namespace castscope::timeline
