#include "server/timeline/questions/picture_encoding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "server/timeline/series/cache_counter.h"

namespace castscope::timeline {
namespace {

constexpr std::uint16_t kPlanes = 0, kRuns = 1;
constexpr std::size_t kRunNumbers = 3, kRunBytes = kRunNumbers * sizeof(std::uint16_t);

// There are no branches on the values here and below, since they change at unpredictable places.
std::size_t count_runs(std::span<const std::uint16_t> values) {
  std::uint32_t n = values[0] != 0 ? 1 : 0;
  for (std::size_t i = 1; i < values.size(); ++i) n += (values[i] != values[i - 1]) & (values[i] != 0) ? 1 : 0;
  return n;
}

// Makes `n` runs of equal values from the occupied columns.
void make_runs(std::span<const std::uint16_t> values, std::size_t n, std::vector<std::uint16_t>* begins,
               std::vector<std::uint16_t>* runs) {
  begins->resize(values.size() + 1);
  std::uint16_t* next = begins->data();
  *next++ = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    *next = static_cast<std::uint16_t>(i);
    next += values[i] != values[i - 1] ? 1 : 0;
  }
  *next = static_cast<std::uint16_t>(values.size());
  runs->resize((n + 1) * kRunNumbers);
  std::uint16_t* run = runs->data();
  for (const std::uint16_t* begin = begins->data(); begin < next; ++begin) {
    run[0] = *begin;
    run[1] = static_cast<std::uint16_t>(begin[1] - begin[0]);
    run[2] = values[*begin];
    run += run[2] != 0 ? kRunNumbers : 0;
  }
  runs->resize(n * kRunNumbers);
}

// A column without fill gets the shade of the one before, so that shades change as seldom as possible. Most bands have
// one shade, which can be seen faster than shades are copied.
void give_shades(std::span<const std::uint16_t> values, std::span<std::uint8_t> shades) {
  const std::uint16_t first = *std::find_if(values.begin(), values.end(), [](auto value) { return value != 0; }) & 0xff;
  std::uint16_t others = 0;
  for (const std::uint16_t value : values) others |= value != 0 ? (value & 0xff) ^ first : 0;
  auto shade = static_cast<std::uint8_t>(first);
  if (others == 0) {
    std::fill(shades.begin(), shades.end(), shade);
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    shade = values[i] != 0 ? static_cast<std::uint8_t>(values[i]) : shade;
    shades[i] = shade;
  }
}

}  // namespace

PictureWriter::PictureWriter(const PictureHeader& header, std::size_t most_bands) : header_(header) {
  constexpr std::size_t kTrackHead = 12;
  // Two planes of bytes are the longest form. Reserved memory that is not written to costs nothing.
  text_.reserve(sizeof(PictureHeader) + most_bands * (kTrackHead + (header.columns + 3) * sizeof(std::uint16_t)));
  text_.resize(sizeof(PictureHeader));
}

void PictureWriter::put_all(std::span<const std::uint16_t> values) {
  text_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  if (values.size() % 2 != 0) put(std::uint16_t{0});
}

void PictureWriter::make_planes(std::span<const std::uint16_t> values) {
  fills_.resize(values.size());
  shades_.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) fills_[i] = static_cast<std::uint8_t>(values[i] >> 8);
  give_shades(values, shades_);
  planes_.clear();
  plane_writer_.append(fills_, &planes_);
  plane_writer_.append(shades_, &planes_);
}

void PictureWriter::track(std::uint32_t id, std::uint16_t flags, std::span<const std::uint16_t> values) {
  constexpr std::size_t kAlign = 4;
  const std::size_t runs = count_runs(values), runs_bytes = runs * kRunBytes;
  // Planes seldom take less than a bit for each column.
  const bool few = runs_bytes <= values.size() / 8;
  if (!few) make_planes(values);
  const bool as_planes = !few && planes_.size() < runs_bytes;
  put(id);
  put(as_planes ? kPlanes : kRuns);
  put(flags);
  put(static_cast<std::uint32_t>(as_planes ? planes_.size() : runs));
  if (as_planes) {
    text_.append(planes_);
    text_.append((kAlign - planes_.size() % kAlign) % kAlign, '\0');
  } else {
    make_runs(values, runs, &begins_, &runs_);
    put_all(runs_);
  }
  ++header_.tracks;
}

void PictureWriter::counter(std::uint32_t process, std::span<const std::uint64_t> values) {
  std::uint64_t top = 0;
  for (const std::uint64_t value : values) top = value == CacheCounter::kNotKnown ? top : std::max(top, value);
  std::vector<std::uint16_t> shares;
  shares.reserve(values.size());
  for (const std::uint64_t value : values) {
    const double share = top == 0 ? 0 : static_cast<double>(value) / static_cast<double>(top);
    shares.push_back(value == CacheCounter::kNotKnown ? kNotKnown : static_cast<std::uint16_t>(share * kTop + 0.5));
  }
  put(process);
  put(std::uint32_t{0});
  put(static_cast<double>(top));
  put_all(shares);
  ++header_.counters;
}

std::string PictureWriter::finish(std::span<const PictureBox> boxes) {
  text_.append(reinterpret_cast<const char*>(boxes.data()), boxes.size_bytes());
  header_.boxes = static_cast<std::uint32_t>(boxes.size());
  std::memcpy(text_.data(), &header_, sizeof(header_));
  return std::move(text_);
}

}  // namespace castscope::timeline
