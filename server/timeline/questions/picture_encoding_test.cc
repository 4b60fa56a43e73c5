#include "server/timeline/questions/picture_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "server/timeline/testing/test_picture.h"

namespace castscope::timeline {
namespace {

using Values = std::vector<std::uint16_t>;

// The bytes of one band, without header and the band's head. What a viewer reads from it must be what was written.
std::size_t bytes_of(const Values& values) {
  constexpr std::size_t kHead = 12;
  PictureHeader header;
  header.columns = static_cast<std::uint32_t>(values.size());
  PictureWriter writer(header, 1);
  writer.track(7, kTrackCoarse | 1 << kTrackBandShift, values);
  const std::string text = writer.finish({});
  const ReadPicture read(text);
  EXPECT_EQ(read.tracks.at(7).flags, kTrackCoarse);
  EXPECT_EQ(read.tracks.at(7).bands[1], values);
  return text.size() - sizeof(PictureHeader) - kHead;
}

std::uint16_t value(unsigned fill, unsigned shade) { return static_cast<std::uint16_t>(fill << 8 | shade); }

Values made(std::size_t n, const std::function<std::uint16_t(std::size_t)>& of) {
  Values values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = of(i);
  return values;
}

TEST(PictureEncodingTest, AFewRunsTakeSixBytesEach) {
  EXPECT_EQ(bytes_of(made(1000, [](std::size_t i) { return i < 400 ? value(i < 90 ? 3 : 255, 2) : value(0, 0); })), 12);
}

TEST(PictureEncodingTest, FullColumnsOfOneShadeTakeABitEach) {
  const Values values = made(1000, [](std::size_t i) { return i * i % 3 == 1 ? value(255, 9) : value(0, 0); });
  EXPECT_EQ(bytes_of(values), 132);  // two forms, three numbers, 125 bytes of bits; padded
}

TEST(PictureEncodingTest, FillsThatChangeSeldomTakeABitAColumnAndAByteAChange) {
  const Values values = made(1000, [](std::size_t i) { return value(i / 4 % 200 + 1, 5); });
  EXPECT_EQ(bytes_of(values), 380);  // two forms, a shade, 125 bytes of bits, 250 fills; padded
}

TEST(PictureEncodingTest, FillsThatChangeAlwaysTakeAByteEach) {
  const Values values = made(1000, [](std::size_t i) { return value(i % 255 + 1, 5); });
  EXPECT_EQ(bytes_of(values), 1004);  // two forms, a shade, 1000 fills; padded
}

// Gaps have the shade of what lies before them, so one shade stays one number.
TEST(PictureEncodingTest, AGapIsNoChangeOfTheShade) {
  const Values values = made(1000, [](std::size_t i) { return i % 3 == 0 ? value(0, 0) : value(i % 255 + 1, 5); });
  EXPECT_EQ(bytes_of(values), 1004);
}

TEST(PictureEncodingTest, NoFormIsLongerThanTwoBytesAColumn) {
  std::mt19937 random(1);
  const Values values = made(1000, [&](std::size_t) { return value(random() % 255 + 1, random() % 255 + 1); });
  EXPECT_EQ(bytes_of(values), 2004);  // two forms, padded
}

// Every mixture of few and many numbers, in pictures of every width.
TEST(PictureEncodingTest, WhateverIsWrittenIsRead) {
  std::mt19937 random(2);
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
    const std::size_t n = i < 600 ? static_cast<std::size_t>(i) / 10 + 1 : random() % 3000 + 1;
    const unsigned fills = 1u << random() % 8, shades = 1u << random() % 5, stays = random() % 30 + 1;
    std::uint16_t last = value(random() % fills + 1, 3);
    const Values values = made(n, [&](std::size_t) {
      if (random() % stays != 0) return last;
      last = random() % 4 == 0 ? value(0, 0) : value(random() % fills + 1, random() % shades + 1);
      return last;
    });
    SCOPED_TRACE(testing::Message() << "picture " << i << ", " << n << " columns");
    if (std::any_of(values.begin(), values.end(), [](auto one) { return one != 0; })) bytes_of(values);
  }
}

}  // namespace
}  // namespace castscope::timeline
