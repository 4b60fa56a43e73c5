#include "server/timeline/picture_encoding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "server/timeline/cache_counter.h"

namespace castscope::timeline {
namespace {

constexpr std::uint16_t kDense = 0, kRuns = 1;
constexpr std::size_t kRunNumbers = 3;

// What is not empty, as runs of one value; false: they are so many that runs would hardly take less room.
bool as_runs(std::span<const std::uint16_t> values, std::vector<std::uint16_t>* runs) {
  runs->clear();
  std::size_t changes = 0;
  for (std::size_t i = 1; i < values.size(); ++i) changes += values[i] != values[i - 1] ? 1 : 0;
  if (changes * 2 >= values.size()) return false;
  for (std::size_t i = 0; i < values.size();) {
    const std::uint16_t value = values[i];
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == value) ++end;
    if (value != 0) {
      runs->push_back(static_cast<std::uint16_t>(i));
      runs->push_back(static_cast<std::uint16_t>(end - i));
      runs->push_back(value);
    }
    i = end;
  }
  return true;
}

}  // namespace

void PictureWriter::put_all(std::span<const std::uint16_t> values) {
  text_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  if (values.size() % 2 != 0) put(std::uint16_t{0});
}

void PictureWriter::track(std::uint32_t id, std::uint16_t flags, std::span<const std::uint16_t> values) {
  const bool dense = !as_runs(values, &runs_);
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
