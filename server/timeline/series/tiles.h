// Columns of one track that were painted once and will not change, kept for whoever looks there next: a picture of a
// whole run is made of all its events once, and of these afterwards.
//
// A tile is kColumns columns that begin at a multiple of their number, so that all pictures of one width of column
// share them. There are so many places; a tile takes the place of another. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace castscope::timeline {

struct TileKey {
  std::int64_t number = 0;   // the first column's is number * Tiles::kColumns, counted from time 0
  unsigned k = 0;            // columns of 2^k ns
  std::uint64_t hidden = 0;  // which shades were left out (Choice::hidden)
  bool operator==(const TileKey&) const = default;
};

class Tiles {
 public:
  static constexpr unsigned kBits = 7;
  static constexpr std::size_t kColumns = std::size_t{1} << kBits;
  static constexpr std::size_t kMostPlaces = 256;

  // False: it is not there.
  bool get(const TileKey& key, std::uint16_t* values) const;
  // Whoever puts the first one says how many places there will be: a power of two, at most kMostPlaces.
  void put(const TileKey& key, const std::uint16_t* values, std::size_t places);
  std::size_t memory() const;
  static constexpr std::size_t memory_of(std::size_t places) { return places * sizeof(Tile); }

 private:
  struct Tile {
    TileKey key{.k = 64};  // no picture's
    std::array<std::uint16_t, kColumns> values;
  };
  // Tiles side by side lie side by side, those of other widths elsewhere.
  static std::size_t place(const TileKey& key, std::size_t places) {
    return (static_cast<std::size_t>(key.number) + key.k * std::size_t{37} + key.hidden) & (places - 1);
  }
  mutable std::mutex mutex_;
  std::vector<Tile> tiles_;
};

}  // namespace castscope::timeline
