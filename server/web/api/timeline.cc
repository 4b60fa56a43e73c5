// The routes for pictures of any window of time, single events, and sums.
#include <chrono>

#include "server/report/text/event_names.h"
#include "server/store/run/names.h"
#include "server/timeline/tracks/shades.h"
#include "server/web/api/event_json.h"
#include "server/web/api/routes.h"
#include "server/web/search/searched_run.h"

namespace castscope::web {
namespace {

constexpr std::uint32_t kMostTracks = 1u << 24;
constexpr std::uint32_t kMostShades = 255;

// What the search that a request names finds; null: it is not one that can be understood, which is noted.
SelectionPtr found_by(Call& call, const Snapshot& snapshot) {
  auto found = searched(snapshot).find(call.parameters.text("find"));
  if (found.ok()) return *std::move(found);
  call.parameters.note("find", std::string(found.status().message()));
  return nullptr;
}

// The tracks, the shades and the text that several routes take as parameters.
struct Wanted {
  timeline::Filter filter;
  SelectionPtr selection;

  absl::Status read(Call& call, const Snapshot& snapshot) {
    filter.tracks = call.parameters.numbers("only_tracks", kMostTracks);
    for (const std::uint32_t shade : call.parameters.numbers("hidden_shades", kMostShades))
      filter.hidden.push_back(static_cast<std::uint8_t>(shade));
    if (!call.parameters.text("find").empty()) selection = found_by(call, snapshot);
    filter.found = selection.get();
    return call.parameters.error();
  }
};

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Answer picture(Call& call) {
  call.run->looked_at(std::chrono::steady_clock::now());
  timeline::PictureQuery query;
  query.from = call.parameters.number("window_begin_ns", -kLatestTime, kLatestTime);
  query.to = call.parameters.number("window_end_ns", -kLatestTime, kLatestTime);
  query.pixels = static_cast<std::uint32_t>(call.parameters.number("columns", 1, timeline::kMostPixels));
  query.box = call.parameters.real("box_pixels", 1, timeline::kMostPixels, query.box);
  query.counters = call.parameters.flag("with_counters");
  if (query.from >= query.to) call.parameters.note("window_begin_ns", "window_begin_ns is not before window_end_ns");
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const auto timeline = call.run->timeline();
  Wanted wanted;
  if (absl::Status wrong = wanted.read(call, **snapshot); !wrong.ok()) return wrong;
  query.filter = wanted.filter;
  const RunState state = call.run->state();
  query.live = state == RunState::kLive;
  query.loading = state == RunState::kLoading;
  if (query.live) query.now = wall_clock() - (*snapshot)->data().start.start_ns;
  query.definitions = (*snapshot)->definitions().together();
  query.judgement = (*snapshot)->number();
  return Response{.status = 200, .type = "application/octet-stream", .body = timeline->picture(query)};
}

Answer event(Call& call) {
  const auto track = static_cast<std::uint32_t>(call.parameters.number("track", 1, kMostTracks));
  const std::int64_t at = call.parameters.number("at_ns", -kLatestTime, kLatestTime);
  const std::int64_t within = call.parameters.number("tolerance_ns", 0, kLatestTime, 0);
  const auto shade = static_cast<std::uint8_t>(call.parameters.number("shade", 1, kMostShades, 0));
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const auto timeline = call.run->timeline();
  Wanted wanted;
  if (absl::Status wrong = wanted.read(call, **snapshot); !wrong.ok()) return wrong;
  const auto found = timeline->event_at(track, at, within, shade, wanted.filter);
  return json_answer({{"event", found ? describe_fully(*call.run, *timeline, (*snapshot)->data(), *found) : Json()}});
}

bool is_track_kind(const std::string& word) {
  for (int kind = 0; kind <= static_cast<int>(timeline::TrackKind::kKernels); ++kind)
    if (timeline::name(static_cast<timeline::TrackKind>(kind)) == word) return true;
  return false;
}

std::vector<std::uint32_t> tracks_of_kind(const timeline::Timeline& timeline, const std::string& kind) {
  std::vector<std::uint32_t> ids;
  for (const timeline::Track& track : timeline.tracks()) {
    if (timeline::name(track.kind) == kind) ids.push_back(track.id);
  }
  return ids;
}

Answer neighbour(Call& call) {
  timeline::NeighbourQuery query;
  query.at = call.parameters.number("at_ns", -kLatestTime, kLatestTime);
  query.subject = static_cast<std::uint32_t>(call.parameters.number("subject", 1, UINT32_MAX, 0));
  const std::string direction = call.parameters.text("direction");
  query.next = direction == "next";
  if (direction != "next" && direction != "previous")
    call.parameters.note("direction", "direction is neither next nor previous");
  const auto track = static_cast<std::uint32_t>(call.parameters.number("track", 1, kMostTracks, 0));
  const std::string kind = call.parameters.text("track_kind");
  if (!kind.empty() && !is_track_kind(kind)) call.parameters.note("track_kind", "track_kind is no kind of track");
  if (query.subject != 0 && track == 0 && kind.empty())
    call.parameters.note("subject",
                         "subject needs the track it is of, or track_kind: numbers of sites and regions overlap");
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const auto timeline = call.run->timeline();
  Wanted wanted;
  if (absl::Status wrong = wanted.read(call, **snapshot); !wrong.ok()) return wrong;
  query.filter = wanted.filter;
  query.whole = wanted.filter.found != nullptr;  // hits of the search are counted the same way
  if (!kind.empty()) query.filter.tracks = tracks_of_kind(*timeline, kind);
  if (track != 0) query.filter.tracks = {track};
  if (!kind.empty() && query.filter.tracks.empty()) return json_answer({{"event", nullptr}});
  const auto found = timeline->neighbour(query);
  return json_answer({{"event", found ? event_json((*snapshot)->data(), *found) : Json()}});
}

Json found_ids(const std::vector<bool>& found) {
  Json ids = Json::array();
  for (std::size_t id = 1; id < found.size(); ++id) {
    if (found[id]) ids.push_back(id);
  }
  return ids;
}

Json kinds_json(const timeline::Summary& sums) {
  Json kinds = Json::array();
  for (const timeline::KindSum& sum : sums.kinds)
    kinds.push_back({{"shade_kind", timeline::name(sum.kind)},
                     {"event_count", sum.count},
                     {"window_ns", sum.ns},
                     {"event_bytes", sum.bytes}});
  return kinds;
}

// Casts and cache hits in the whole run, also of those whose single events are no longer held.
std::uint64_t count_casts_and_hits(const store::RunData& run, const timeline::Selection& found) {
  std::uint64_t count = 0;
  const auto has = [&](timeline::ShadeKind kind, store::SiteId site) {
    const auto* const ids = found.of(timeline::TrackKind::kCasts, kind);
    return ids == nullptr || (site < ids->size() && (*ids)[site]);
  };
  for (const store::SiteUse& use : run.site_uses) {
    const store::Site& site = run.sites[use.site];
    if (has(timeline::cast_kind(site.from, site.to), site.id)) count += use.counts.casts;
    if (has(timeline::ShadeKind::kHit, site.id)) count += use.counts.hits;
  }
  return count;
}

Json shades_json(const timeline::Summary& sums) {
  Json shades = Json::array();
  for (const timeline::ShadeSum& sum : sums.shades)
    shades.push_back(
        {{"shade", sum.shade}, {"event_count", sum.count}, {"window_ns", sum.ns}, {"event_bytes", sum.bytes}});
  return shades;
}

Answer find(Call& call) {
  if (call.parameters.text("find").empty()) return wrong_parameter("find", "find is missing: what is to be found");
  const std::vector<std::uint32_t> hidden = call.parameters.numbers("hidden_shades", kMostShades);
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const SelectionPtr found = found_by(call, **snapshot);
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const timeline::Selection& selection = *found;
  const auto timeline = call.run->timeline();
  timeline::NeighbourQuery from_the_begin{.at = -kLatestTime};
  from_the_begin.filter.found = &selection;
  const auto first = timeline->neighbour(from_the_begin);
  timeline::SummaryQuery all{.from = -kLatestTime, .to = kLatestTime, .rows = false, .modules = true, .filter = {}};
  all.filter.found = &selection;
  for (const std::uint32_t shade : hidden) all.filter.hidden.push_back(static_cast<std::uint8_t>(shade));
  const timeline::Summary held = timeline->summary(all);
  return json_answer({{"site_ids", found_ids(selection.sites)},
                      {"operator_use_ids", found_ids(selection.uses)},
                      {"region_ids", found_ids(selection.regions)},
                      {"kernel_ids", found_ids(selection.kernels)},
                      {"casts_and_cache_hits", count_casts_and_hits((*snapshot)->data(), selection)},
                      {"event_count", held.events},
                      {"exact", held.exact},
                      {"by_shade_kind", kinds_json(held)},
                      {"first_event_ns", first ? Json(first->begin) : Json()}});
}

Answer summary(Call& call) {
  timeline::SummaryQuery query;
  query.from = call.parameters.number("window_begin_ns", -kLatestTime, kLatestTime);
  query.to = call.parameters.number("window_end_ns", -kLatestTime, kLatestTime);
  if (query.from >= query.to) call.parameters.note("window_begin_ns", "window_begin_ns is not before window_end_ns");
  query.rows = call.parameters.number("with_rows", 0, 1, 1) != 0;
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const auto timeline = call.run->timeline();
  Wanted wanted;
  if (absl::Status wrong = wanted.read(call, **snapshot); !wrong.ok()) return wrong;
  query.filter = wanted.filter;
  const timeline::Summary sums = timeline->summary(query);
  Json rows = Json::array();
  for (const timeline::SubjectSum& sum : sums.rows) {
    if (sum.track == timeline::TrackKind::kMarks) continue;  // they have no cost, and by_shade_kind counts them
    rows.push_back({{"track_kind", timeline::name(sum.track)},
                    {"subject", sum.subject},
                    {"shade_kind", timeline::name(sum.kind)},
                    {"event_count", sum.count},
                    {"window_ns", sum.ns},
                    {"event_bytes", sum.bytes}});
  }
  return json_answer({{"window_begin_ns", query.from},
                      {"window_end_ns", query.to},
                      {"exact", sums.exact},
                      {"event_count", sums.events},
                      {"by_shade_kind", kinds_json(sums)},
                      {"by_shade", shades_json(sums)},
                      {"by_subject", std::move(rows)}});
}

}  // namespace

void add_timeline_routes(std::vector<Route>& routes) {
  routes.push_back({"runs/{run}/picture",
                    {"window_begin_ns", "window_end_ns", "columns", "only_tracks", "hidden_shades", "box_pixels",
                     "find", "with_counters"},
                    picture});
  routes.push_back({"runs/{run}/event", {"track", "at_ns", "tolerance_ns", "shade", "find"}, event});
  routes.push_back({"runs/{run}/neighbour",
                    {"at_ns", "direction", "track", "track_kind", "subject", "find", "only_tracks", "hidden_shades"},
                    neighbour,
                    true});
  routes.push_back({"runs/{run}/find", {"find", "hidden_shades"}, find, true});
  routes.push_back({"runs/{run}/summary",
                    {"window_begin_ns", "window_end_ns", "with_rows", "only_tracks", "hidden_shades", "find"},
                    summary,
                    true});
}

}  // namespace castscope::web
