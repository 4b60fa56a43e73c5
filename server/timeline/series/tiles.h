// Painted columns of one track that will not change any more, kept for the next picture that needs them: a picture of a
// whole run is made from all its events once, and from tiles afterwards.
//
// A tile is kColumns columns that begin at a multiple of their number, so all pictures with one width of column share
// them. The number of places is limited; a new tile replaces the one in its place. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace castscope::timeline {

struct TileKey {
  std::int64_t number = 0;   // the first column is number * Tiles::kColumns, counted from time 0
  unsigned k = 0;            // columns of 2^k ns
  std::uint64_t hidden = 0;  // the set of hidden shades (Choice::hidden)
  std::uint8_t band = 0;
  bool operator==(const TileKey&) const = default;
};

class Tiles {
 public:
  static constexpr unsigned kBits = 7;
  static constexpr std::size_t kColumns = std::size_t{1} << kBits;
  static constexpr std::size_t kMostPlaces = 256;

  // Returns false if the tile is missing.
  bool get(const TileKey& key, std::uint16_t* values) const;
  // The first call of put() sets the number of places: a power of two, at most kMostPlaces.
  void put(const TileKey& key, const std::uint16_t* values, std::size_t places);
  std::size_t memory() const;
  static constexpr std::size_t memory_of(std::size_t places) { return places * sizeof(Tile); }

 private:
  struct Tile {
    TileKey key{.k = 64};  // no picture has it
    std::array<std::uint16_t, kColumns> values;
  };
  // Neighbouring tiles have neighbouring places; tiles of other widths and bands lie elsewhere.
  static std::size_t place(const TileKey& key, std::size_t places) {
    const std::size_t elsewhere = key.k * std::size_t{37} + key.band * std::size_t{85} + key.hidden;
    return (static_cast<std::size_t>(key.number) + elsewhere) & (places - 1);
  }
  mutable std::mutex mutex_;
  std::vector<Tile> tiles_;
};

}  // namespace castscope::timeline
