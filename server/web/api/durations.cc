// The route for how long events took: of a stretch, of one site or operator in it.
#include "server/web/api/routes.h"

namespace castscope::web {
namespace {

constexpr std::uint32_t kMostIds = 1u << 24, kMostShadeIds = 255;

std::optional<timeline::TrackKind> kind_with_durations(const std::string& word) {
  for (const auto kind : {timeline::TrackKind::kCasts, timeline::TrackKind::kOperators, timeline::TrackKind::kKernels,
                          timeline::TrackKind::kSteps})
    if (timeline::name(kind) == word) return kind;
  return std::nullopt;
}

Json bars_json(const timeline::Durations& durations) {
  Json bars = Json::array();
  for (const timeline::Durations::Bar& bar : durations.bars)
    bars.push_back({{"least_ns", bar.from}, {"below_ns", bar.to}, {"event_count", bar.count}});
  return bars;
}

Answer durations(Call& call) {
  timeline::DurationQuery query;
  query.from = call.parameters.number("window_begin_ns", -kLatestTime, kLatestTime);
  query.to = call.parameters.number("window_end_ns", -kLatestTime, kLatestTime);
  if (query.from >= query.to) call.parameters.note("window_begin_ns", "window_begin_ns is not before window_end_ns");
  const std::string word = call.parameters.text("track_kind");
  const auto kind = kind_with_durations(word.empty() ? "casts" : word);
  if (!kind) call.parameters.note("track_kind", "track_kind is none of casts, operators, kernels, steps");
  query.track = kind.value_or(timeline::TrackKind::kCasts);
  query.subject = static_cast<std::uint32_t>(call.parameters.number("subject", 1, UINT32_MAX, 0));
  query.filter.tracks = call.parameters.numbers("only_tracks", kMostIds);
  for (const std::uint32_t shade : call.parameters.numbers("hidden_shades", kMostShadeIds))
    query.filter.hidden.push_back(static_cast<std::uint8_t>(shade));
  if (absl::Status wrong = call.parameters.error(); !wrong.ok()) return wrong;
  const auto snapshot = call.run->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const auto timeline = call.run->timeline();
  // Nobody times casts in compiled graphs: they took no 0 ns.
  for (const timeline::Shade& shade : timeline->shades())
    if (shade.cause == lanes::Cause::kCompiled) query.filter.hidden.push_back(shade.id);
  const timeline::Durations told = timeline->durations(query);
  const auto of_single = [&](std::int64_t ns) { return told.single > 0 ? Json(ns) : Json(); };
  return json_answer({{"event_count", told.count},
                      {"single_events", told.single},
                      {"exact", told.exact},
                      {"events_ns", told.ns},
                      {"window_ns", told.window_ns},
                      {"event_bytes", told.bytes},
                      {"shortest_ns", of_single(told.shortest)},
                      {"median_ns", of_single(told.median)},
                      {"p95_ns", of_single(told.p95)},
                      {"longest_ns", of_single(told.longest)},
                      {"duration_bars", bars_json(told)},
                      {"step_count", told.steps},
                      {"steps_ns", told.steps_ns},
                      {"not_kept_ns", told.missing_ns}});
}

}  // namespace

void add_duration_routes(std::vector<Route>& routes) {
  routes.push_back({"runs/{run}/durations",
                    {"window_begin_ns", "window_end_ns", "track_kind", "subject", "only_tracks", "hidden_shades"},
                    durations});
}

}  // namespace castscope::web
