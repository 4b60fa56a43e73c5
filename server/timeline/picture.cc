#include <algorithm>
#include <cmath>

#include "server/timeline/picture_encoding.h"
#include "server/timeline/questions.h"

namespace castscope::timeline {
namespace {

class Drawing {
 public:
  Drawing(const Teller& told, const PictureQuery& query, const Grid& grid, const PictureHeader& header)
      : told_(told), choice_(query.filter, told.shades()), grid_(grid), painter_(grid), writer_(header) {
    const double pixel = static_cast<double>(query.to - query.from) / query.pixels;
    // Not shorter than a pixel: so a track has no more boxes than columns.
    shortest_ = static_cast<std::int64_t>(std::ceil(std::max(query.box, 1.0) * std::max(pixel, 1.0)));
  }

  void add(const Row& row) {
    if (!choice_.has(row)) return;
    const std::size_t first_box = boxes_.size();
    bool whole = true;
    const std::uint8_t open = row.open ? row.open->shade : std::uint8_t{0};
    bool open_painted = open == 0;
    for (const auto& series : row.series) {
      const auto wanted = choice_.of(row, series->shade());
      if (!wanted || !(series->touches(grid_.first, grid_.end()) || series->shade() == open)) continue;
      painter_.begin_series(series->shade());
      series->paint(painter_, *wanted);
      whole = whole && series->whole(grid_.first, grid_.end());
      if (series->shade() == open) {
        open_painted = true;
        add_open(row, *wanted);
      }
      painter_.end_series();
      series->each_as_long(grid_.first, grid_.end(), shortest_, *wanted,
                           [&](const Item& item) { add_box(row, item, series->shade(), 0); });
    }
    if (!open_painted) {
      painter_.begin_series(open);
      if (const auto wanted = choice_.of(row, open)) add_open(row, *wanted);
      painter_.end_series();
    }
    std::sort(boxes_.begin() + static_cast<std::ptrdiff_t>(first_box), boxes_.end(),
              [](const PictureBox& a, const PictureBox& b) { return a.begin < b.begin; });
    coarse_ = coarse_ || !whole;
    if (painter_.end_track(&values_)) writer_.track(row.track.id, whole ? 0 : kTrackCoarse, values_);
  }

  void add_counters() {
    told_.each_counter([&](std::uint32_t process, const CacheCounter& counter) {
      writer_.counter(process, counter.most(grid_, told_.newest()));
    });
  }
  std::string finish() {
    if (coarse_) writer_.flag(kCoarse);
    return writer_.finish(boxes_);
  }

 private:
  void add_open(const Row& row, const Wanted& wanted) {
    const Item item = row.open_item(told_.newest());
    if (!wanted(item.subject)) return;
    painter_.cover(item.begin, item.covered_to());
    const bool seen = item.begin < grid_.end() && item.covered_to() > grid_.first;
    if (seen && item.end - item.begin >= shortest_) add_box(row, item, row.open->shade, kBoxOpen);
  }
  void add_box(const Row& row, const Item& item, std::uint8_t shade, std::uint8_t flags) {
    PictureBox box;
    box.track = row.track.id;
    box.subject = item.subject;
    box.begin = column(item.begin);
    box.end = column(item.end);
    box.shade = shade;
    box.flags = static_cast<std::uint8_t>(flags | (item.begin < grid_.first ? kBoxBegan : 0) |
                                          (item.end > grid_.end() ? kBoxGoesOn : 0));
    boxes_.push_back(box);
  }
  float column(std::int64_t time) const {
    const std::int64_t inside = std::clamp(time, grid_.first, grid_.end()) - grid_.first;
    return static_cast<float>(std::ldexp(static_cast<double>(inside), -static_cast<int>(grid_.k)));
  }

  const Teller& told_;
  const Choice choice_;
  const Grid grid_;
  Painter painter_;
  PictureWriter writer_;
  std::int64_t shortest_ = 1;
  bool coarse_ = false;
  std::vector<std::uint16_t> values_;
  std::vector<PictureBox> boxes_;
};

}  // namespace

bool Choice::has(const Row& row) const {
  const auto& tracks = filter_.tracks;
  return tracks.empty() || std::find(tracks.begin(), tracks.end(), row.track.id) != tracks.end();
}

std::optional<Wanted> Choice::of(const Row& row, std::uint8_t shade) const {
  if (std::find(filter_.hidden.begin(), filter_.hidden.end(), shade) != filter_.hidden.end()) return std::nullopt;
  if (filter_.found == nullptr) return Wanted{};
  switch (row.track.kind) {
    case TrackKind::kCasts:
      return Wanted{&filter_.found->sites, 0};
    case TrackKind::kOperators:
      return Wanted{&filter_.found->uses, 0};
    case TrackKind::kRegions:
      return Wanted{&filter_.found->regions, 0};
    default: {
      const auto& shades = filter_.found->shades;
      return shade < shades.size() && shades[shade] ? std::optional(Wanted{}) : std::nullopt;
    }
  }
}

std::string draw(const Teller& told, const PictureQuery& asked, std::uint64_t revision) {
  PictureQuery query = asked;
  query.pixels = std::clamp<std::uint32_t>(query.pixels, 1, kMostPixels);
  query.from = std::clamp(query.from, -kLatestTime, kLatestTime);
  query.to = std::clamp(query.to, query.from + 1, kLatestTime + 1);
  const Grid grid = Grid::of(query.from, query.to, query.pixels);
  PictureHeader header;
  header.k = static_cast<std::uint16_t>(grid.k);
  header.first = grid.first;
  header.columns = static_cast<std::uint32_t>(grid.columns);
  header.revision = revision;
  header.newest = told.newest();
  header.events = told.events();
  header.behind_ns = query.now ? std::max<std::int64_t>(*query.now - told.newest(), 0) : 0;
  header.flags = (query.live ? kLive : 0) | (query.loading ? kLoading : 0);
  header.definitions = query.definitions;
  header.judgement = query.judgement;
  Drawing drawing(told, query, grid, header);
  for (const Row& row : told.rows()) drawing.add(row);
  if (query.counters) drawing.add_counters();
  return drawing.finish();
}

}  // namespace castscope::timeline
