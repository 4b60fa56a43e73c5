#include "server/timeline/series/tiles.h"

#include <algorithm>

namespace castscope::timeline {

bool Tiles::get(const TileKey& key, std::uint16_t* values) const {
  const std::lock_guard lock(mutex_);
  if (tiles_.empty()) return false;
  const Tile& tile = tiles_[place(key, tiles_.size())];
  if (tile.key != key) return false;
  std::copy(tile.values.begin(), tile.values.end(), values);
  return true;
}

void Tiles::put(const TileKey& key, const std::uint16_t* values, std::size_t places) {
  const std::lock_guard lock(mutex_);
  if (tiles_.empty()) tiles_.resize(places);
  Tile& tile = tiles_[place(key, tiles_.size())];
  tile.key = key;
  std::copy_n(values, kColumns, tile.values.begin());
}

std::size_t Tiles::memory() const {
  const std::lock_guard lock(mutex_);
  return tiles_.capacity() * sizeof(Tile);
}

}  // namespace castscope::timeline
