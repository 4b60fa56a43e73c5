#include <algorithm>

#include "server/timeline/questions/questions.h"

namespace castscope::timeline {
namespace {

struct Found {
  const Row* row = nullptr;
  Item item;
  std::uint8_t shade = 0;
  bool open = false;
};

// An interval that ends where another begins does not cover that moment.
std::int64_t distance(const Item& item, std::int64_t at) {
  if (at < item.begin) return item.begin - at;
  return at < item.covered_to() ? 0 : std::max<std::int64_t>(at - item.end, 1);
}

// Calls `take` for the row's open interval, and for the item that `pick` chooses in each of its series.
template <typename Pick, typename Take>
void each_candidate(const TrackBuilder& tracks, const Row& row, const Pick& pick, const Take& take) {
  for (const auto& series : row.series) {
    if (const auto item = pick(*series)) take(Found{&row, *item, series->shade(), false});
  }
  if (row.open) take(Found{&row, row.open_item(tracks.newest()), row.open->shade, true});
}

// Finds the interval of this row that contains `at`.
std::optional<Found> around(const TrackBuilder& tracks, const Row* row, std::int64_t at) {
  std::optional<Found> found;
  if (row == nullptr) return found;
  each_candidate(
      tracks, *row, [&](const Series& series) { return series.last_before(at + 1, Wanted{}); },
      [&](const Found& one) {
        if (one.item.begin <= at && (at < one.item.covered_to() || one.open)) found = one;
      });
  return found;
}

FoundEvent describe_event(const TrackBuilder& tracks, const Found& found) {
  FoundEvent event;
  event.track = found.row->track.id;
  event.process = found.row->track.process;
  event.lane = found.row->track.lane;
  event.device = found.row->track.device;
  event.stream = found.row->track.stream;
  event.subject = found.item.subject;
  event.shade = tracks.shades().all()[found.shade - std::size_t{1}];
  event.begin = found.item.begin;
  event.end = found.item.end;
  event.open = found.open;
  event.bytes = found.item.bytes();
  event.kept = found.item.has(kKept);
  // A kernel runs after the step and the region that it was launched in, or during other ones.
  if (found.row->track.kind == TrackKind::kKernels) return event;
  if (const auto step = around(tracks, tracks.steps_of(event.process), event.begin)) event.step = step->item.subject;
  const auto region = around(tracks, tracks.regions_of(event.process, event.lane), event.begin);
  if (region) event.region = store::RegionId(region->item.subject);
  return event;
}

}  // namespace

std::optional<FoundEvent> find_at(const TrackBuilder& tracks, std::uint32_t track, std::int64_t at, std::int64_t within,
                                  std::uint8_t shade, const Filter& filter) {
  if (track == 0 || track > tracks.rows().size()) return std::nullopt;
  const Row& row = tracks.rows()[track - 1];
  const Choice choice(filter, tracks.shades());
  std::optional<Found> nearest;
  const auto wanted = [&](std::uint8_t of) { return shade == 0 || of == shade ? choice.of(row, of) : std::nullopt; };
  const auto nearer = [&](const Found& one) {
    if (distance(one.item, at) > within) return;
    // each_candidate hands over the open interval whatever is wanted.
    if (const auto of = wanted(one.shade); one.open && (!of || !(*of)(one.item.subject))) return;
    if (!nearest || distance(one.item, at) < distance(nearest->item, at)) nearest = one;
  };
  const auto beside = [&](const Series& series, bool next) -> std::optional<Item> {
    const auto of = wanted(series.shade());
    if (!of) return std::nullopt;
    return next ? series.first_after(at, *of) : series.last_before(at + 1, *of);
  };
  each_candidate(
      tracks, row, [&](const Series& series) { return beside(series, false); }, nearer);
  each_candidate(
      tracks, row, [&](const Series& series) { return beside(series, true); }, nearer);
  return nearest ? std::optional(describe_event(tracks, *nearest)) : std::nullopt;
}

std::optional<FoundEvent> find_neighbour(const TrackBuilder& tracks, const NeighbourQuery& query) {
  const Choice choice(query.filter, tracks.shades());
  std::optional<Found> nearest;
  for (const Row& row : tracks.rows()) {
    if (!choice.has(row)) continue;
    const auto wanted = [&](std::uint8_t shade) {
      auto wanted = choice.of(row, shade);
      if (wanted) wanted->subject = query.subject;
      return wanted;
    };
    const auto pick = [&](const Series& series) -> std::optional<Item> {
      const auto of = wanted(series.shade());
      if (!of) return std::nullopt;
      const auto beyond = [&](std::int64_t at) {
        return query.next ? series.first_after(at, *of) : series.last_before(at, *of);
      };
      auto item = beyond(query.at);
      while (item && query.whole && item->has(kContinued)) item = beyond(item->begin);
      return item;
    };
    each_candidate(tracks, row, pick, [&](const Found& one) {
      const bool beyond = query.next ? one.item.begin > query.at : one.item.begin < query.at;
      if (!beyond) return;
      if (const auto of = wanted(one.shade); one.open && (!of || !(*of)(one.item.subject))) return;
      if (nearest && (query.next ? one.item.begin >= nearest->item.begin : one.item.begin <= nearest->item.begin)) {
        return;
      }
      nearest = one;
    });
  }
  return nearest ? std::optional(describe_event(tracks, *nearest)) : std::nullopt;
}

}  // namespace castscope::timeline
