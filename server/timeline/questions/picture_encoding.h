// The form in which a viewer gets a picture. Little-endian, every part aligned to 4 bytes:
//
//   header     80 bytes: Header
//   tracks     each: u32 track, u16 encoding, u16 flags (1 = coarse; 2 and 4: the band, 0 … 2), u32 n, then
//                encoding 0: n bytes: two planes (planes.h), the columns' fills and their shades
//                encoding 1: n runs of {u16 first column, u16 columns, u16 value}; what lies between them is empty.
//                A value has the shade in its low byte, the fill in its high byte
//              Fill: how much of the column is filled, 1 … 255; 0 = nothing, then the shade says nothing. The shorter
//              encoding is taken. A track of casts comes once for each of its bands (tracks/tracks.h). What takes no
//              time fills its columns
//   counters   each: u32 process, u32 0, f64 top, then a u16 for each column: 65534 = top, 65535 = not known
//   boxes      each 24 bytes: Box
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/timeline/questions/planes.h"
#include "server/timeline/series/grid.h"

namespace castscope::timeline {

inline constexpr std::uint32_t kPictureMagic = 0x50435343;  // "CSCP"
inline constexpr std::uint16_t kPictureVersion = 3;
inline constexpr std::uint32_t kLive = 1, kCoarse = 2, kLoading = 4;  // Header::flags
inline constexpr std::uint16_t kTrackCoarse = 1;
inline constexpr unsigned kTrackBandShift = 1;
inline constexpr std::uint16_t kNotKnown = 65535, kTop = 65534;
inline constexpr std::uint8_t kBoxOpen = 1, kBoxBegan = 2, kBoxGoesOn = 4;  // before, after the window

struct PictureHeader {
  std::uint32_t magic = kPictureMagic;
  std::uint16_t version = kPictureVersion, k = 0;
  std::int64_t first = 0;
  std::uint32_t columns = 0, tracks = 0, counters = 0, boxes = 0;
  std::uint64_t revision = 0;
  std::int64_t newest = 0;
  std::uint64_t events = 0;
  std::int64_t behind_ns = 0;
  std::uint32_t flags = 0, definitions = 0;
  std::uint64_t judgement = 0;
};
static_assert(sizeof(PictureHeader) == 80 && offsetof(PictureHeader, judgement) == 72);

struct PictureBox {
  std::uint32_t track = 0, subject = 0;
  float begin = 0, end = 0;  // in columns, in the window: 0 … columns
  std::uint8_t shade = 0, flags = 0;
  std::uint16_t reserved = 0;
  std::uint32_t reserved2 = 0;
};
static_assert(sizeof(PictureBox) == 24);

class PictureWriter {
 public:
  PictureWriter(const PictureHeader& header, std::size_t most_bands);
  void flag(std::uint32_t flag) { header_.flags |= flag; }
  void track(std::uint32_t id, std::uint16_t flags, std::span<const std::uint16_t> values);
  void counter(std::uint32_t process, std::span<const std::uint64_t> values);  // CacheCounter::kNotKnown
  std::string finish(std::span<const PictureBox>);

 private:
  template <typename T>
  void put(const T& value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put_all(std::span<const std::uint16_t> values);
  void make_planes(std::span<const std::uint16_t> values);
  PictureHeader header_;
  std::string text_;
  // These belong to the track that is being written. They are members so that the next track uses their memory again.
  std::vector<std::uint16_t> begins_, runs_;
  std::vector<std::uint8_t> fills_, shades_;
  std::string planes_;
  PlaneWriter plane_writer_;
};

}  // namespace castscope::timeline
