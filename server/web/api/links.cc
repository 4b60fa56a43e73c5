#include "server/web/api/links.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "agent/lanes/event_views.h"
#include "server/report/timelines/timeline.h"
#include "server/store/read/event_blocks.h"

namespace castscope::web {
namespace {

using timeline::FoundEvent;
using timeline::ShadeKind;
using timeline::TrackKind;

// Nobody follows more than that from one event.
constexpr std::size_t kMostConsumers = 8;

bool is_cast(const FoundEvent& event) {
  return event.shade.kind == ShadeKind::kDown || event.shade.kind == ShadeKind::kUp ||
         event.shade.kind == ShadeKind::kSame;
}

// Answers the questions about one event of a run.
class Links {
 public:
  Links(const std::string& run_file, const store::RunData& run, const timeline::Timeline& timeline,
        const FoundEvent& event, const std::optional<lanes::Event>& kept)
      : file_(run_file), run_(run), timeline_(timeline), event_(event), kept_(kept) {}

  std::vector<Link> all() {
    if (event_.shade.kind == ShadeKind::kHit) add(LinkKind::kFilledBy, filled_by());
    if (is_cast(event_) && event_.kept) add(LinkKind::kServes, serves());
    if (event_.shade.track == TrackKind::kCasts) {
      const auto consumer = consumed_by();
      add(LinkKind::kConsumedBy, consumer);
      if (consumer) add_makers(*consumer, argument_of_cast());
    }
    if (event_.shade.track == TrackKind::kOperators) {
      add_makers(event_, std::nullopt);
      add_consumers();
    }
    return std::move(links_);
  }

 private:
  void add(LinkKind kind, const std::optional<FoundEvent>& event) {
    if (event) links_.push_back({kind, *event});
  }

  std::vector<std::uint32_t> tracks(TrackKind kind, std::optional<std::uint32_t> lane = std::nullopt) const {
    std::vector<std::uint32_t> ids;
    for (const timeline::Track& track : timeline_.tracks())
      if (track.process == event_.process && track.kind == kind && (!lane || track.lane == *lane))
        ids.push_back(track.id);
    return ids;
  }

  // ---- the copies in the cache

  // The nearest clearing of the cache before or after the event; a far time where there is none.
  std::int64_t cleared(bool next) const {
    timeline::NeighbourQuery query{.at = event_.begin, .next = next};
    query.filter.tracks = tracks(TrackKind::kMarks);
    for (const timeline::Shade& shade : timeline_.shades())
      if (shade.kind != ShadeKind::kClear) query.filter.hidden.push_back(shade.id);
    const auto found = query.filter.tracks.empty() ? std::nullopt : timeline_.neighbour(query);
    if (found) return found->begin;
    return next ? timeline::kLatestTime : -timeline::kLatestTime;
  }

  // Calls `take` with the casts and hits of the event's tensor that lie in a stretch of the file.
  void same_tensor(std::int64_t from, std::int64_t to,
                   const std::function<void(const lanes::Event&, std::uint32_t lane)>& take) const {
    if (!kept_) return;
    const std::uint64_t source = as_cast(*kept_).source();
    const std::int64_t begin = process_begin();
    std::vector<lanes::Event> events;
    std::vector<std::uint32_t> lanes;
    for (const timeline::Track& track : timeline_.tracks())
      if (track.process == event_.process && track.kind == TrackKind::kCasts) lanes.push_back(track.lane);
    for (const std::uint32_t lane : lanes) {
      const store::BlockRange range{
          .process = event_.process, .lane = lane, .first_ns = from - begin, .last_ns = to - begin};
      (void)store::read_event_blocks_in(file_, range, [&](const store::KeptBlock& block) {
        if (!report::unpack_block(file_, run_, block, &events).ok()) return absl::OkStatus();
        for (const lanes::Event& event : events) {
          const bool is_use = event.kind == lanes::EventKind::kCast || event.kind == lanes::EventKind::kHit;
          const std::int64_t at = static_cast<std::int64_t>(event.time) + begin;
          if (is_use && at >= from && at <= to && as_cast(event).source() == source) take(event, lane);
        }
        return absl::OkStatus();
      });
    }
  }

  std::int64_t process_begin() const {
    return run_.processes[event_.process].info.begin_realtime_ns - run_.start.start_ns;
  }

  std::optional<FoundEvent> of_lane(const lanes::Event& event, std::uint32_t lane) const {
    const std::int64_t at = static_cast<std::int64_t>(event.time) + process_begin();
    for (const std::uint32_t track : tracks(TrackKind::kCasts, lane))
      if (const auto found = timeline_.event_at(track, at, 0)) return found;
    return std::nullopt;
  }

  std::optional<FoundEvent> filled_by() const {
    std::optional<std::pair<lanes::Event, std::uint32_t>> last;
    same_tensor(cleared(false), event_.begin, [&](const lanes::Event& event, std::uint32_t lane) {
      const bool fills = event.kind == lanes::EventKind::kCast && (event.flags & lanes::kFlagKept) != 0;
      if (fills && (!last || event.time > last->first.time)) last = {event, lane};
    });
    return last ? of_lane(last->first, last->second) : std::nullopt;
  }

  std::optional<FoundEvent> serves() const {
    std::optional<std::pair<lanes::Event, std::uint32_t>> first;
    same_tensor(event_.begin, cleared(true), [&](const lanes::Event& event, std::uint32_t lane) {
      if (event.kind == lanes::EventKind::kHit && (!first || event.time < first->first.time)) first = {event, lane};
    });
    return first ? of_lane(first->first, first->second) : std::nullopt;
  }

  // ---- the way of a value

  // The cast lies within its operator's call: the innermost one that covers it and has its name, or else any.
  std::optional<FoundEvent> consumed_by() const {
    const store::Site* const site = run_.sites.find(store::SiteId(event_.subject));
    std::optional<FoundEvent> best;
    bool best_named = false;
    for (const std::uint32_t track : tracks(TrackKind::kOperators, event_.lane)) {
      const auto found = timeline_.event_at(track, event_.begin, 0);
      if (!found) continue;
      const store::OperatorUse* const use = run_.operator_uses.find(store::OperatorUseId(found->subject));
      const bool named = site != nullptr && use != nullptr && use->op.starts_with(site->op);
      const bool inner = !best || found->end - found->begin < best->end - best->begin;
      if (named == best_named ? inner : named) {
        best = found;
        best_named = named;
      }
    }
    return best;
  }

  std::optional<std::uint32_t> argument_of_cast() const {
    const store::Site* const site = run_.sites.find(store::SiteId(event_.subject));
    const store::CallSite* const call = site == nullptr ? nullptr : run_.call_sites.find(site->call_site);
    if (call == nullptr || call->argument == lanes::kUnknownArgument) return std::nullopt;
    return call->argument;
  }

  std::optional<FoundEvent> call_of(store::OperatorUseId use, std::int64_t at, bool next) const {
    timeline::NeighbourQuery query{.at = at, .next = next, .subject = use};
    query.filter.tracks = tracks(TrackKind::kOperators);
    const auto found = timeline_.neighbour(query);
    return found && found->step == event_.step ? found : std::nullopt;
  }

  // What made the arguments of a call, or one of them.
  void add_makers(const FoundEvent& call, std::optional<std::uint32_t> argument) {
    std::map<std::uint32_t, FoundEvent> makers;  // by argument
    for (const store::Flow& flow : run_.flows) {
      if (flow.to != call.subject || (argument && flow.argument != *argument)) continue;
      const auto maker = call_of(flow.from, call.begin, false);
      if (!maker) continue;
      const auto known = makers.find(flow.argument);
      if (known == makers.end())
        makers.emplace(flow.argument, *maker);
      else if (maker->begin > known->second.begin)
        known->second = *maker;
    }
    for (const auto& [of, maker] : makers) add(LinkKind::kMadeBy, maker);
  }

  void add_consumers() {
    std::vector<FoundEvent> consumers;
    for (const store::Flow& flow : run_.flows) {
      if (flow.from != event_.subject) continue;
      if (const auto consumer = call_of(flow.to, event_.begin, true)) consumers.push_back(*consumer);
    }
    const auto sooner = [](const FoundEvent& a, const FoundEvent& b) {
      return std::pair(a.begin, a.track) < std::pair(b.begin, b.track);
    };
    const auto same = [](const FoundEvent& a, const FoundEvent& b) { return a.begin == b.begin && a.track == b.track; };
    std::sort(consumers.begin(), consumers.end(), sooner);
    consumers.erase(std::unique(consumers.begin(), consumers.end(), same), consumers.end());
    if (consumers.size() > kMostConsumers) consumers.resize(kMostConsumers);
    for (const FoundEvent& consumer : consumers) add(LinkKind::kGoesTo, consumer);
  }

  const std::string& file_;
  const store::RunData& run_;
  const timeline::Timeline& timeline_;
  const FoundEvent& event_;
  const std::optional<lanes::Event>& kept_;
  std::vector<Link> links_;
};

}  // namespace

std::string_view name(LinkKind kind) {
  switch (kind) {
    case LinkKind::kFilledBy:
      return "filled_by";
    case LinkKind::kServes:
      return "serves";
    case LinkKind::kConsumedBy:
      return "consumed_by";
    case LinkKind::kMadeBy:
      return "made_by";
    default:
      return "goes_to";
  }
}

std::vector<Link> links_of(const std::string& run_file, const store::RunData& run, const timeline::Timeline& timeline,
                           const FoundEvent& event, const std::optional<lanes::Event>& kept) {
  if (event.process == 0 || event.process > run.processes.size()) return {};
  return Links(run_file, run, timeline, event, kept).all();
}

}  // namespace castscope::web
