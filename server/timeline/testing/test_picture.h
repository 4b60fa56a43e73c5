// For tests: reads a picture as a viewer does.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/timeline/questions/picture_encoding.h"
#include "server/timeline/questions/planes.h"

namespace castscope::timeline {

struct ReadTrack {
  std::uint16_t flags = 0;                        // without the band
  std::vector<std::uint16_t> bands[kBands] = {};  // values of all columns; empty: nothing of the band was told
};
struct ReadCounter {
  double top = 0;
  std::vector<std::uint16_t> values;
};

struct ReadPicture {
  explicit ReadPicture(std::string_view text) : left_(text) {
    header = take<PictureHeader>();
    EXPECT_EQ(header.magic, kPictureMagic);
    for (std::uint32_t i = 0; i < header.tracks; ++i) read_track();
    for (std::uint32_t i = 0; i < header.counters; ++i) read_counter();
    for (std::uint32_t i = 0; i < header.boxes; ++i) boxes.push_back(take<PictureBox>());
    EXPECT_TRUE(left_.empty()) << left_.size() << " bytes too many";
  }
  std::uint16_t value(std::uint32_t track, std::uint8_t band, std::size_t column) const {
    const auto found = tracks.find(track);
    if (found == tracks.end() || found->second.bands[band].empty()) return 0;
    return found->second.bands[band][column];
  }
  // The value of the first band that has one there.
  std::uint16_t value(std::uint32_t track, std::size_t column) const {
    std::uint16_t found = 0;
    for (std::uint8_t band = 0; band < kBands && found == 0; ++band) found = value(track, band, column);
    return found;
  }

  PictureHeader header;
  std::map<std::uint32_t, ReadTrack> tracks;
  std::map<std::uint32_t, ReadCounter> counters;
  std::vector<PictureBox> boxes;

 private:
  template <typename T>
  T take() {
    T value{};
    EXPECT_GE(left_.size(), sizeof(T));
    if (left_.size() < sizeof(T)) return value;
    std::memcpy(&value, left_.data(), sizeof(T));
    left_.remove_prefix(sizeof(T));
    return value;
  }
  std::vector<std::uint16_t> take_all(std::size_t n) {
    std::vector<std::uint16_t> values(n);
    for (std::uint16_t& value : values) value = take<std::uint16_t>();
    if (n % 2 != 0) take<std::uint16_t>();
    return values;
  }
  void read_track() {
    const auto id = take<std::uint32_t>();
    const auto encoding = take<std::uint16_t>();
    const auto flags = take<std::uint16_t>();
    const unsigned band = flags >> kTrackBandShift;
    ASSERT_LT(band, kBands);
    tracks[id].flags = flags & kTrackCoarse;
    std::vector<std::uint16_t>& values = tracks[id].bands[band];
    EXPECT_TRUE(values.empty()) << "a band came twice";
    const auto n = take<std::uint32_t>();
    ASSERT_LE(encoding, 1);
    if (encoding == 0) {
      values = take_planes(n);
      return;
    }
    values.resize(header.columns);
    const auto runs = take_all(std::size_t{n} * 3);
    for (std::size_t i = 0; i < runs.size(); i += 3) {
      for (std::size_t c = runs[i]; c < std::size_t{runs[i]} + runs[i + 1]; ++c) values.at(c) = runs[i + 2];
    }
  }
  // Two planes in `n` bytes.
  std::vector<std::uint16_t> take_planes(std::size_t n) {
    const std::size_t before = left_.size();
    const std::vector<std::uint8_t> fills = take_plane(), shades = take_plane();
    EXPECT_EQ(before - left_.size(), n);
    for (; n % 4 != 0; ++n) EXPECT_EQ(take<std::uint8_t>(), 0);
    std::vector<std::uint16_t> values(header.columns);
    for (std::size_t c = 0; c < values.size(); ++c) {
      values[c] = static_cast<std::uint16_t>(fills[c] == 0 ? 0 : fills[c] << 8 | shades[c]);
    }
    return values;
  }
  std::vector<std::uint8_t> take_plane() {
    const auto form = take<PlaneForm>();
    std::vector<std::uint8_t> numbers(header.columns);
    const auto fill = [&](const auto& number) {
      for (std::size_t c = 0; c < numbers.size(); ++c) numbers[c] = number(c);
    };
    if (form == PlaneForm::kEach) {
      fill([&](std::size_t) { return take<std::uint8_t>(); });
    } else if (form == PlaneForm::kChanges) {
      const std::vector<bool> changes = take_bits();
      EXPECT_TRUE(changes.at(0));
      fill([&](std::size_t c) { return changes[c] ? take<std::uint8_t>() : numbers[c - 1]; });
    } else {
      EXPECT_LE(form, PlaneForm::kTwo);
      const auto first = take<std::uint8_t>();
      const auto second = form == PlaneForm::kTwo ? take<std::uint8_t>() : first;
      const std::vector<bool> seconds = form == PlaneForm::kTwo ? take_bits() : std::vector<bool>(numbers.size());
      fill([&](std::size_t c) { return seconds[c] ? second : first; });
    }
    return numbers;
  }
  std::vector<bool> take_bits() {
    std::vector<bool> bits(header.columns);
    std::uint8_t byte = 0;
    for (std::size_t c = 0; c < bits.size(); ++c) {
      if (c % 8 == 0) byte = take<std::uint8_t>();
      bits[c] = (byte >> c % 8 & 1) != 0;
    }
    return bits;
  }
  void read_counter() {
    ReadCounter& counter = counters[take<std::uint32_t>()];
    take<std::uint32_t>();
    counter.top = take<double>();
    counter.values = take_all(header.columns);
  }
  std::string_view left_;
};

}  // namespace castscope::timeline
