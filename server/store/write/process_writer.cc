#include "server/store/write/process_writer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace castscope::store {
namespace {

constexpr std::uint32_t kMostLanes = 1u << 16;

bool is_of_model(const SiteInfo& site) {
  return site.role == lanes::Role::kWeight || site.role == lanes::Role::kBuffer;
}

bool watch_repeats(const SiteInfo& site) {
  const bool by_autocast = site.cause == lanes::Cause::kAutocast || site.cause == lanes::Cause::kCustomCast ||
                           site.cause == lanes::Cause::kScript;
  return is_of_model(site) && by_autocast && site.why != lanes::WhyNotCached::kNone &&
         (site.flags & (lanes::kSiteNoCast | lanes::kSiteTracing)) == 0;
}

}  // namespace

absl::Status ProcessWriter::define(const AttributeInfo& attribute) {
  const auto& [name, value] = attribute;
  if (name == kTorchFolder) tables_->definitions.torch_folder(value);
  return tables_->add_attribute.run(id_, name, value);
}

absl::Status ProcessWriter::define(const CallSiteInfo& info) {
  bool moved = false;
  CASTSCOPE_RETURN_IF_ERROR(numbers_.call_site(info, &moved));
  if (!moved) return absl::OkStatus();
  // It was taken for another process's call site: its sites become sites of their own, and so do those that name them.
  std::vector<bool> moves(sites_.size());
  for (std::uint32_t id = 1; id < moves.size(); ++id) {
    const auto& [site, known] = sites_[id];
    moves[id] = known && (site.call_site == info.id || moves[site.forward_site]);
    if (moves[id]) CASTSCOPE_RETURN_IF_ERROR(define_site(SiteInfo(site)));
  }
  return absl::OkStatus();
}

absl::Status ProcessWriter::define(const SiteInfo& info) {
  CASTSCOPE_RETURN_IF_ERROR(numbers_.check("site", info.id));
  return define_site(info);
}

absl::Status ProcessWriter::define_site(const SiteInfo& info) {
  Site site{.op = info.op,
            .role = info.role,
            .cause = info.cause,
            .why = info.why,
            .phase = info.phase,
            .from = info.from,
            .to = info.to,
            .device = info.device,
            .flags = info.flags};
  CASTSCOPE_RETURN_IF_ERROR(numbers_.find(info.stack, &site.stack));
  CASTSCOPE_RETURN_IF_ERROR(numbers_.find(info.module, &site.module));
  CASTSCOPE_RETURN_IF_ERROR(numbers_.find(info.call_site, &site.call_site));
  CASTSCOPE_RETURN_IF_ERROR(numbers_.find(info.region, &site.region));
  CASTSCOPE_RETURN_IF_ERROR(numbers_.find(info.forward_site, &site.forward_site));
  const auto number = tables_->definitions.site(site);
  if (!number.ok()) return number.status();
  if (info.id >= sites_.size()) {
    sites_.resize(info.id + 1);
    facts_.resize(info.id + 1);
  }
  sites_[info.id] = {.info = info, .known = true};
  numbers_.site(info.id, *number);
  CASTSCOPE_RETURN_IF_ERROR(tables_->put_local_site.run(id_, info.id, *number));
  SiteFacts& facts = facts_[info.id];
  if (facts.site != 0 && facts.site != *number) {  // counted elsewhere so far
    for (auto& [key, state] : counters_) {
      if (state.row.site != info.id || state.changed) continue;
      state.changed = true;
      changed_counters_.push_back(key);
    }
  }
  track_together(info.id, facts.site, *number);
  facts.site = *number;
  facts.outermost_region = tables_->definitions.outermost(site.region);
  facts.consumer = (site.module * 0x9e3779b1u ^ site.call_site) * 256u + site.to;
  facts.watch_repeats = watch_repeats(info);
  facts.may_be_kept =
      is_of_model(info) && info.cause == lanes::Cause::kAutocast && info.why == lanes::WhyNotCached::kNone;
  if (facts.outermost_region != 0) {
    const Region& outermost = tables_->definitions.region_at(facts.outermost_region);
    facts.raw_region = outermost.kind == lanes::RegionKind::kRaw && outermost.nesting == 0;
    facts.in_forward = facts.may_be_kept && info.phase == lanes::Phase::kForward && !facts.raw_region;
  }
  return absl::OkStatus();
}

void ProcessWriter::track_together(std::uint32_t local, SiteId before, SiteId now) {
  if (before == now) return;
  if (const auto known = tracked_.find(before); known != tracked_.end() && known->second == local) {
    tracked_.erase(known);
    // Another of that site's takes over, from here on.
    for (std::uint32_t other = 1; other < facts_.size(); ++other)
      if (other != local && facts_[other].site == before)
        facts_[other].tracked_as = tracked_.try_emplace(before, other).first->second;
  }
  facts_[local].tracked_as = tracked_.try_emplace(now, local).first->second;
}

absl::Status ProcessWriter::define(const ThreadInfo& thread) {
  return tables_->put_thread.run(id_, thread.id, thread.lane, thread.tid, thread.name);
}

void ProcessWriter::break_off(std::uint32_t lane) {
  evidence_.break_off(lane);
  deep_.break_off(lane);
}

absl::Status ProcessWriter::events(const EventBlock& block) {
  if (block.lane >= kMostLanes) {
    return absl::InvalidArgumentError(absl::StrCat("process ", key_, ": lane ", block.lane, " is out of range"));
  }
  has_events_ = true;
  LaneGaps& gaps = gaps_[block.lane];
  std::uint64_t seen = 0;
  for (const lanes::Event& event : block.events) {
    gaps.take_event(event.kind);
    if (gaps.before_next() && !gaps.only_kernels()) [[unlikely]] {
      break_off(block.lane);
    }
    if (is_picture_only(event.kind)) continue;
    seen = event.time;
    step_event(block.lane, event);
    switch (event.kind) {
      case lanes::EventKind::kCast:
      case lanes::EventKind::kHit:
        CASTSCOPE_RETURN_IF_ERROR(cast_event(block.lane, event));
        break;
      case lanes::EventKind::kRegionEnter:
      case lanes::EventKind::kRegionExit:
        CASTSCOPE_RETURN_IF_ERROR(region_event(block.lane, event));
        break;
      case lanes::EventKind::kCacheClear:
        evidence_.clear(block.lane, event);
        break;
      case lanes::EventKind::kThread:
        evidence_.thread_begins(block.lane);
        deep_.thread_begins(block.lane);
        break;
      case lanes::EventKind::kOptimizer:
        evidence_.optimizer(block.lane, event);
        [[fallthrough]];
      case lanes::EventKind::kScaler:
      case lanes::EventKind::kMetric:
        deep_.event(block.lane, event);
        break;
      case lanes::EventKind::kBackward:
        evidence_.backward(block.lane);
        [[fallthrough]];
      case lanes::EventKind::kValues:
        deep_.event(block.lane, event);
        break;
      default:
        break;
    }
  }
  if (seen > 0) evidence_.seen(block.lane, seen);
  return tables_->window.add(id_, block);
}

void ProcessWriter::step_event(std::uint32_t lane, const lanes::Event& event) {
  LaneSteps& step = steps_.at(lane, event);
  switch (event.kind) {
    case lanes::EventKind::kCast:
    case lanes::EventKind::kHit:
      if (event.site == 0) [[unlikely]] {  // its site had no room in the process: of that step not all is known
        step.other(event);
        steps_.dropped(lane);
      } else if (numbers_.site_or_0(event.site) != 0) {
        event.kind == lanes::EventKind::kCast ? step.cast(event) : step.hit(event);
      }
      break;
    case lanes::EventKind::kRegionEnter:
      if (numbers_.region_or_0(event.site) != 0) step.enter(event);
      break;
    case lanes::EventKind::kRegionExit:
      if (numbers_.region_or_0(event.site) != 0) step.other(event);
      break;
    case lanes::EventKind::kCacheClear:
      step.clear(event);
      break;
    case lanes::EventKind::kOptimizer:
    case lanes::EventKind::kScaler:
      step.optimizer(event);
      break;
    case lanes::EventKind::kBackward:
      step.backward(event);
      break;
    case lanes::EventKind::kDeep:
      step.deep(event);
      break;
    case lanes::EventKind::kStep:
      steps_.begins(step, event);
      break;
    case lanes::EventKind::kMetric:  // what the job writes down is no part of the step's time
      break;
    default:
      step.other(event);
  }
}

absl::Status ProcessWriter::cast_event(std::uint32_t lane, const lanes::Event& event) {
  if (event.site == 0) [[unlikely]]
    return absl::OkStatus();
  if (event.site >= facts_.size() || facts_[event.site].site == 0) [[unlikely]] {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", key_, ": an event is of site ", event.site, ", which was never defined"));
  }
  const SiteFacts& facts = facts_[event.site];
  lanes::Event tracked = event;
  tracked.site = facts.tracked_as;
  if (event.kind == lanes::EventKind::kCast)
    evidence_.cast(lane, tracked, facts);
  else
    evidence_.hit(lane, tracked);
  return absl::OkStatus();
}

absl::Status ProcessWriter::region_event(std::uint32_t lane, const lanes::Event& event) {
  RegionId region;
  CASTSCOPE_RETURN_IF_ERROR(numbers_.find(event.site, &region));
  if (region == 0) return absl::OkStatus();
  if (event.kind == lanes::EventKind::kRegionEnter)
    evidence_.enter(lane, event, region, numbers_.is_outermost(event.site));
  else
    evidence_.exit(lane, event, region);
  return absl::OkStatus();
}

absl::Status ProcessWriter::counters(std::span<const CounterRow> rows) {
  for (const CounterRow& row : rows) {
    if (row.lane < kMostLanes && deep_.counts(row.site)) {
      deep_.counter(row);
      continue;
    }
    if (row.lane >= kMostLanes || (row.site != 0 && (row.site >= facts_.size() || facts_[row.site].site == 0))) {
      return absl::FailedPreconditionError(absl::StrCat("process ", key_, ": a counter is of lane ", row.lane,
                                                        ", site ", row.site, ", which was never defined"));
    }
    const std::uint64_t key = std::uint64_t{row.lane} << 32 | row.site;
    CounterState& state = counters_[key];
    state.row.lane = row.lane, state.row.site = row.site;
    raise(state.row, row);
    if (!state.changed) changed_counters_.push_back(key);
    state.changed = true;
  }
  return absl::OkStatus();
}

absl::Status ProcessWriter::lanes(std::span<const LaneRow> rows) {
  for (const LaneRow& row : rows) {
    if (row.lane >= kMostLanes) {
      return absl::InvalidArgumentError(absl::StrCat("process ", key_, ": lane ", row.lane, " is out of range"));
    }
    LaneRow& known = lanes_[row.lane];
    LaneRow now = row;
    now.written = std::max(row.written, known.written);
    now.dropped = std::max(row.dropped, known.dropped);
    LaneGaps& gaps = gaps_[row.lane];
    if (gaps.take_row(now) && !gaps.only_kernels()) {
      steps_.dropped(row.lane);
      break_off(row.lane);
    }
    known = now;
    if (std::find(changed_lanes_.begin(), changed_lanes_.end(), row.lane) == changed_lanes_.end()) {
      changed_lanes_.push_back(row.lane);
    }
  }
  return absl::OkStatus();
}

absl::Status ProcessWriter::gauges(const Gauges& g) {
#define CASTSCOPE_VALUE_OF_GAUGE(name, ...) g.name,
  return tables_->put_gauges.run(CASTSCOPE_GAUGES(CASTSCOPE_VALUE_OF_GAUGE) id_);
#undef CASTSCOPE_VALUE_OF_GAUGE
}

absl::Status ProcessWriter::end(ProcessEnd end, int exit_status) {
  ended_ = true;
  return tables_->put_end.run(id_, end, exit_status);
}

std::uint32_t ProcessWriter::number(Numbered what, std::uint32_t local) const {
  switch (what) {
    case Numbered::kProcess:
      return id_;
    case Numbered::kSite:
      return numbers_.site_or_0(local);
    case Numbered::kRegion:
      return numbers_.region_or_0(local);
    default:
      return deep_.number(what, local);
  }
}

LanePosition ProcessWriter::position(std::uint32_t lane) const {
  const auto it = lanes_.find(lane);
  if (it == lanes_.end()) return {};
  return {.received = it->second.received, .next = it->second.next};
}

absl::Status ProcessWriter::write(bool last) {
  CASTSCOPE_RETURN_IF_ERROR(write_counters());
  CASTSCOPE_RETURN_IF_ERROR(deep_.write());
  for (const std::uint32_t lane : changed_lanes_) {
    const LaneRow& row = lanes_[lane];
    CASTSCOPE_RETURN_IF_ERROR(
        tables_->put_lane.run(id_, row.lane, row.tid, row.written, row.dropped, row.received, row.next));
  }
  changed_lanes_.clear();
  last |= ended_;
  if (!has_events_ && !last) return absl::OkStatus();
  has_events_ = false;
  CASTSCOPE_RETURN_IF_ERROR(write_evidence(last));
  return write_steps(last);
}

absl::Status ProcessWriter::write_counters() {
  for (const std::uint64_t key : changed_counters_) {
    CounterState& state = counters_[key];
    const CounterRow& row = state.row;
    state.changed = false;
    const std::uint64_t id = std::uint64_t{id_} << 48 | key;
    const SiteId site = row.site ? facts_[row.site].site : SiteId();
    CASTSCOPE_RETURN_IF_ERROR(tables_->put_counter.run(id, id_, row.lane, site, row.casts, row.hits, row.passes,
                                                       row.traced, row.bytes, row.cpu_ns, row.kept));
  }
  changed_counters_.clear();
  return absl::OkStatus();
}

absl::Status ProcessWriter::write_evidence(bool last) {
  for (const auto& [local, e] : evidence_.take_sites(last)) {
    const SiteId site = facts_[local].site;
    CASTSCOPE_RETURN_IF_ERROR(
        tables_->put_site_evidence.run(std::uint64_t{id_} << 32 | site, id_, site, e.repeats, e.same_source,
                                       e.most_in_region, e.most_kept, e.most_kept_bytes, e.hits_after_growth,
                                       e.returning, e.first_ns, e.recast_in_pass, e.recast_passes, e.cast_passes));
  }
  for (const RegionUse& use : evidence_.take_regions(last)) {
    CASTSCOPE_RETURN_IF_ERROR(tables_->put_region_use.run(
        std::uint64_t{id_} << 32 | use.region, id_, use.region, use.entered, use.exited, use.most_entries,
        use.most_bytes, use.kept, use.kept_bytes, use.own_clears, use.first_kept_step, use.most_optimizer_steps,
        use.cleared_midway, use.clears_within, use.old_hits));
  }
  return absl::OkStatus();
}

absl::Status ProcessWriter::write_steps(bool last) {
  absl::Status status;
  steps_.settle(last, [&](std::uint32_t step, StepWork&& work) { status.Update(take_step(step, std::move(work))); });
  CASTSCOPE_RETURN_IF_ERROR(status);
  for (const std::uint32_t late : steps_.take_late()) {
    if (step_runs_.mark_incomplete(late)) {
      step_run_changed_ = true;
    } else {
      CASTSCOPE_RETURN_IF_ERROR(tables_->mark_step_run.run(id_, late));
    }
  }
  return write_step_run();
}

absl::Status ProcessWriter::take_step(std::uint32_t step, StepWork&& work) {
  for (StepWork::AtSite& at : work.sites) at.site = numbers_.site_or_0(at.site);
  for (auto& [region, times] : work.enters) region = numbers_.region_or_0(region);
  work.order();
  const std::uint64_t fingerprint = work.fingerprint();
  if (!step_runs_.continues(step, work, fingerprint)) {
    CASTSCOPE_RETURN_IF_ERROR(write_step_run());
    std::uint32_t number = 0;  // an incomplete step is not behaviour
    if (!work.incomplete) CASTSCOPE_RETURN_IF_ERROR(tables_->behaviour(work, fingerprint, &number));
    step_runs_.begin(id_, step, work, fingerprint, number);
    step_run_id_ = tables_->next_step_run++;
  }
  step_runs_.append(step, work, fingerprint);
  step_run_changed_ = true;
  return absl::OkStatus();
}

absl::Status ProcessWriter::write_step_run() {
  if (!step_run_changed_) return absl::OkStatus();
  step_run_changed_ = false;
  const StepRun& r = step_runs_.current();
  return tables_->put_step_run.run(step_run_id_, id_, r.first, r.last, r.training_steps, r.behaviour, r.incomplete,
                                   r.begin_ns, r.end_ns, step_runs_.median_ns(), r.casts, r.hits, r.regions, r.clears,
                                   r.bytes, r.cpu_ns, r.cache_bytes);
}

}  // namespace castscope::store
