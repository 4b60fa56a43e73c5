// One track: a series for each of its shades, and the interval that is open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/timeline/series/series.h"
#include "server/timeline/series/tiles.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::timeline {

struct Row {
  struct Open {
    Item item;  // its end is not known yet
    std::uint8_t shade = 0;
  };

  Track track;
  std::vector<std::unique_ptr<Series>> series;
  std::int64_t last = 0;  // nothing begins before it
  std::optional<Open> open;
  mutable Tiles tiles;  // tiles are a cache: painting them leaves the row as it is

  void add(std::uint8_t shade, Item item, Holdings& holdings) {
    item.begin = std::max(item.begin, last);
    last = item.end = std::max(item.begin, item.end);
    of(shade).add(item, holdings);
  }
  void begin(std::uint8_t shade, const Item& item) {
    open = {item, shade};
    last = open->item.begin = std::max(item.begin, last);
  }
  // Ends the open interval. Returns false if it ends where it began, and then leaves nothing.
  bool end(std::int64_t time, Holdings& holdings) {
    if (!open) return false;
    Open ended = *open;
    open.reset();
    ended.item.end = time;
    if (time <= ended.item.begin) return false;
    add(ended.shade, ended.item, holdings);
    return true;
  }
  // The open interval with its length so far.
  Item open_item(std::int64_t newest) const {
    Item item = open->item;
    item.end = std::max(newest, item.begin);
    return item;
  }
  Series& of(std::uint8_t shade) {
    for (const auto& known : series) {
      if (known->shade() == shade) return *known;
    }
    return *series.emplace_back(std::make_unique<Series>(shade));
  }
};

}  // namespace castscope::timeline
