#include "server/timeline/questions/picture_encoding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "server/timeline/series/cache_counter.h"

namespace castscope::timeline {
namespace {

constexpr std::uint16_t kDense = 0, kRuns = 1;
constexpr std::size_t kRunNumbers = 3;

// Writes the occupied columns as runs of equal values; returns false if runs would take more room. There are no
// branches on the values, since they change at unpredictable places.
bool as_runs(std::span<const std::uint16_t> values, std::vector<std::uint16_t>* begins,
             std::vector<std::uint16_t>* runs) {
  std::size_t n = values[0] != 0 ? 1 : 0;
  for (std::size_t i = 1; i < values.size(); ++i) n += (values[i] != values[i - 1]) & (values[i] != 0) ? 1 : 0;
  if (n * kRunNumbers >= values.size()) return false;
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
  return true;
}

}  // namespace

PictureWriter::PictureWriter(const PictureHeader& header, std::size_t most_bands) : header_(header) {
  constexpr std::size_t kTrackHead = 12;
  // Reserved memory that is not written to costs nothing.
  text_.reserve(sizeof(PictureHeader) + most_bands * (kTrackHead + (header.columns + 1) * sizeof(std::uint16_t)));
  text_.resize(sizeof(PictureHeader));
}

void PictureWriter::put_all(std::span<const std::uint16_t> values) {
  text_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  if (values.size() % 2 != 0) put(std::uint16_t{0});
}

void PictureWriter::track(std::uint32_t id, std::uint16_t flags, std::span<const std::uint16_t> values) {
  const bool dense = !as_runs(values, &begins_, &runs_);
  put(id);
  put(dense ? kDense : kRuns);
  put(flags);
  put(static_cast<std::uint32_t>(dense ? values.size() : runs_.size() / kRunNumbers));
  put_all(dense ? values : runs_);
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
