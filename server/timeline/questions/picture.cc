#include <algorithm>
#include <bitset>
#include <cmath>
#include <functional>
#include <span>

#include "server/timeline/questions/picture_encoding.h"
#include "server/timeline/questions/questions.h"

namespace castscope::timeline {
namespace {

std::size_t bands(const TrackBuilder& tracks) {
  std::size_t n = 0;
  for (const Row& row : tracks.rows()) n += bands_of(row.track.kind);
  return n;
}

class Drawing {
 public:
  Drawing(const TrackBuilder& tracks, const PictureQuery& query, const Grid& grid, const PictureHeader& header)
      : tracks_(tracks),
        choice_(query.filter, tracks.shades()),
        hidden_(choice_.hidden()),
        grid_(grid),
        first_tile_(grid.first >> (grid.k + Tiles::kBits)),
        painter_(grid.k),
        writer_(header, bands(tracks)) {
    const double pixel = static_cast<double>(query.to - query.from) / query.pixels;
    // A box is at least a pixel wide, so a track has no more boxes than columns.
    shortest_ = static_cast<std::int64_t>(std::ceil(std::max(query.box, 1.0) * std::max(pixel, 1.0)));
    const std::int64_t last_tile = (grid.end() - 1) >> (grid.k + Tiles::kBits);
    values_.resize(static_cast<std::size_t>(last_tile - first_tile_ + 1) * Tiles::kColumns);
  }

  void add(const Row& row) {
    if (!choice_.has(row)) return;
    const bool whole = add_boxes(row);
    coarse_ = coarse_ || !whole;
    for (band_ = 0; band_ < bands_of(row.track.kind); ++band_) add_band(row, whole ? 0 : kTrackCoarse);
  }

  void add_counters() {
    tracks_.each_counter([&](store::ProcessId process, const CacheCounter& counter) {
      writer_.counter(process, counter.most(grid_, tracks_.newest()));
    });
  }
  std::string finish() {
    if (coarse_) writer_.flag(kCoarse);
    return writer_.finish(boxes_);
  }

 private:
  void add_band(const Row& row, std::uint16_t flags) {
    const std::size_t skipped = grid_of_tiles().column(grid_.first);
    const auto seen = std::span(values_).subspan(skipped, grid_.columns);
    if (hidden_ && is_much(row))
      add_tiles(row);
    else
      paint(row, grid_, seen.data());
    flags |= static_cast<std::uint16_t>(band_ << kTrackBandShift);
    if (any(seen)) writer_.track(row.track.id, flags, seen);
  }
  bool in_band(std::uint8_t shade) const { return band_of(tracks_.shades()[shade].kind) == band_; }

  Grid tiles(std::size_t first, std::size_t n) const {
    const std::int64_t begin = (first_tile_ + static_cast<std::int64_t>(first)) << (grid_.k + Tiles::kBits);
    return {grid_.k, begin, n * Tiles::kColumns};
  }
  Grid grid_of_tiles() const { return tiles(0, values_.size() / Tiles::kColumns); }
  TileKey key(std::size_t tile) const {
    return {first_tile_ + static_cast<std::int64_t>(tile), grid_.k, *hidden_, band_};
  }

  // Whether painting takes longer than looking for tiles. This is a guess: it assumes that the row is equally full
  // everywhere.
  bool is_much(const Row& row) const {
    constexpr double kMuch = 200;
    std::size_t items = 0;
    for (const auto& series : row.series) items += in_band(series->shade()) ? series->size() : 0;
    const auto of_row = static_cast<double>(std::max<std::int64_t>(row.last - tracks_.begin(), 1));
    return static_cast<double>(items) * static_cast<double>(grid_.end() - grid_.first) > kMuch * of_row;
  }

  // Paints the tiles that are missing, and keeps those that will not change any more.
  void add_tiles(const Row& row) {
    const std::size_t n = values_.size() / Tiles::kColumns;
    const auto values = [&](std::size_t tile) { return &values_[tile * Tiles::kColumns]; };
    const auto known = [&](std::size_t tile) { return row.tiles.get(key(tile), values(tile)); };
    for (std::size_t tile = 0; tile < n;) {
      if (known(tile)) {
        ++tile;
        continue;
      }
      const std::size_t first = tile++;
      bool next = false;
      while (tile < n && !(next = known(tile))) ++tile;
      paint(row, tiles(first, tile - first), values(first));
      for (std::size_t i = first; i < tile && tiles(i, 1).end() <= row.last; ++i) {
        row.tiles.put(key(i), values(i), tracks_.tile_places());
      }
      tile += next ? 1 : 0;
    }
  }

  void paint(const Row& row, const Grid& grid, std::uint16_t* values) {
    painter_.begin_stretch(grid);
    const std::uint8_t open = row.open && in_band(row.open->shade) ? row.open->shade : std::uint8_t{0};
    bool open_painted = open == 0;
    for (const auto& series : row.series) {
      const auto wanted = choice_.of(row, series->shade());
      if (!wanted || !in_band(series->shade())) continue;
      if (!series->touches(grid.first, grid.end()) && series->shade() != open) continue;
      painter_.begin_series(series->shade());
      series->paint(painter_, *wanted);
      if (series->shade() == open) {
        open_painted = true;
        paint_open(row, *wanted);
      }
      painter_.end_series();
    }
    if (!open_painted) {
      painter_.begin_series(open);
      if (const auto wanted = choice_.of(row, open)) paint_open(row, *wanted);
      painter_.end_series();
    }
    painter_.end_stretch(values);
    // A share of time says nothing about what takes none, and equal fills take a bit each.
    if (band_ == kTimelessBand) {
      for (std::uint16_t& value : std::span(values, grid.columns)) value |= value == 0 ? 0 : 0xff00;
    }
  }
  void paint_open(const Row& row, const Wanted& wanted) {
    const Item item = row.open_item(tracks_.newest());
    if (wanted(item.subject)) painter_.cover(item.begin, item.covered_to());
  }

  // Returns false if some single events are no longer in memory.
  bool add_boxes(const Row& row) {
    const std::size_t first_box = boxes_.size();
    bool whole = true;
    for (const auto& series : row.series) {
      const auto wanted = choice_.of(row, series->shade());
      if (!wanted || !series->touches(grid_.first, grid_.end())) continue;
      whole = whole && series->whole(grid_.first, grid_.end());
      series->each_as_long(grid_.first, grid_.end(), shortest_, *wanted,
                           [&](const Item& item) { add_box(row, item, series->shade(), 0); });
    }
    if (row.open) add_open_box(row);
    std::sort(boxes_.begin() + static_cast<std::ptrdiff_t>(first_box), boxes_.end(),
              [](const PictureBox& a, const PictureBox& b) { return a.begin < b.begin; });
    return whole;
  }
  void add_open_box(const Row& row) {
    const auto wanted = choice_.of(row, row.open->shade);
    const Item item = row.open_item(tracks_.newest());
    const bool seen = item.begin < grid_.end() && item.covered_to() > grid_.first;
    if (wanted && seen && (*wanted)(item.subject) && item.end - item.begin >= shortest_)
      add_box(row, item, row.open->shade, kBoxOpen);
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

  static bool any(std::span<const std::uint16_t> values) {
    std::uint16_t all = 0;
    for (const std::uint16_t value : values) all |= value;
    return all != 0;
  }

  const TrackBuilder& tracks_;
  const Choice choice_;
  const std::optional<std::uint64_t> hidden_;
  const Grid grid_;
  const std::int64_t first_tile_;
  Painter painter_;
  PictureWriter writer_;
  std::uint8_t band_ = 0;  // that is being painted
  std::int64_t shortest_ = 1;
  bool coarse_ = false;
  std::vector<std::uint16_t> values_;  // of one row, from the begin of the first tile
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
  const Selection::Ids* const ids = filter_.found->of(row.track.kind, shades_.all()[shade - std::size_t{1}].kind);
  if (ids != nullptr && ids->empty()) return std::nullopt;
  return Wanted{ids, 0};
}

const Selection::Ids* Selection::of(TrackKind track, ShadeKind kind) const {
  if (const auto found = of_kind.find(kind); found != of_kind.end()) return found->second ? &*found->second : nullptr;
  static const Ids kNone;
  switch (track) {
    case TrackKind::kCasts:
      return &sites;
    case TrackKind::kOperators:
      return &uses;
    case TrackKind::kKernels:
      return &kernels;
    case TrackKind::kRegions:
      return &regions;
    default:
      return &kNone;
  }
}

std::optional<std::uint64_t> Choice::hidden() const {
  if (filter_.found != nullptr) return std::nullopt;
  std::bitset<256> hidden;
  for (const std::uint8_t shade : filter_.hidden) hidden.set(shade);
  return hidden.none() ? 0 : std::hash<std::bitset<256>>()(hidden);
}

std::string draw(const TrackBuilder& tracks, const PictureQuery& asked, std::uint64_t revision) {
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
  header.newest = tracks.newest();
  header.events = tracks.events();
  header.behind_ns = query.now ? std::max<std::int64_t>(*query.now - tracks.newest(), 0) : 0;
  header.flags = (query.live ? kLive : 0) | (query.loading ? kLoading : 0);
  header.definitions = query.definitions;
  header.judgement = query.judgement;
  Drawing drawing(tracks, query, grid, header);
  for (const Row& row : tracks.rows()) drawing.add(row);
  if (query.counters) drawing.add_counters();
  return drawing.finish();
}

}  // namespace castscope::timeline
