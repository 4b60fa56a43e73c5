#include "server/timeline/questions/planes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

namespace castscope::timeline {
namespace {

using Plane = std::span<const std::uint8_t>;

constexpr std::size_t kBits = 8;

void append_byte(unsigned byte, std::string* text) { text->push_back(static_cast<char>(byte)); }

// There are no branches on the numbers here and below, since they change at unpredictable places.
//
// Returns whether no number is other than these.
bool are_all(Plane numbers, std::uint8_t a, std::uint8_t b) {
  std::uint8_t others = 0;
  for (const std::uint8_t number : numbers) others |= static_cast<std::uint8_t>((number != a) & (number != b));
  return others == 0;
}

// Appends a bit for each flag, which is 0 or 1.
void append_bits(Plane flags, std::string* text) {
  const std::size_t before = text->size();
  text->resize(before + (flags.size() + kBits - 1) / kBits);
  char* next = text->data() + before;
  const std::uint8_t* flag = flags.data();
  for (std::size_t left = flags.size(); left > 0; left -= std::min(left, kBits), flag += kBits) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, flag, std::min(left, kBits));
    // Each of the eight bytes is moved to its bit of the highest byte.
    *next++ = static_cast<char>(eight * 0x0102040810204080 >> 56);
  }
}

// Appends the numbers that have a flag, of which there are so many.
void append_flagged(Plane numbers, Plane flags, std::size_t n, std::string* text) {
  const std::size_t before = text->size();
  text->resize(before + n + 1);  // the last one that is written may have no flag
  char* next = text->data() + before;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    *next = static_cast<char>(numbers[i]);
    next += flags[i];
  }
  text->resize(before + n);
}

}  // namespace

void PlaneWriter::append(Plane numbers, std::string* text) {
  const auto begin = [&](PlaneForm form) { append_byte(static_cast<unsigned>(form), text); };
  const std::size_t n = numbers.size(), bits = (n + kBits - 1) / kBits;
  const std::uint8_t first = numbers[0];
  // This is the quickest way of comparing, and shades are mostly all the same.
  if (std::equal(numbers.begin() + 1, numbers.end(), numbers.begin())) {
    begin(PlaneForm::kOne);
    return append_byte(first, text);
  }
  const std::uint8_t other = *std::find_if(numbers.begin(), numbers.end(), [&](auto one) { return one != first; });
  flags_.resize(n);
  std::uint8_t* const flags = flags_.data();  // read once: bytes that are written might lie in flags_ itself
  if (2 + bits < n && are_all(numbers, first, other)) {
    begin(PlaneForm::kTwo);
    append_byte(first, text);
    append_byte(other, text);
    for (std::size_t i = 0; i < n; ++i) flags[i] = numbers[i] != first ? 1 : 0;
    return append_bits(flags_, text);
  }
  flags[0] = 1;
  for (std::size_t i = 1; i < n; ++i) flags[i] = numbers[i] != numbers[i - 1] ? 1 : 0;
  const auto changes = static_cast<std::size_t>(std::accumulate(flags_.begin(), flags_.end(), std::uint32_t{0}));
  if (bits + changes < n) {
    begin(PlaneForm::kChanges);
    append_bits(flags_, text);
    return append_flagged(numbers, flags_, changes, text);
  }
  begin(PlaneForm::kEach);
  text->append(reinterpret_cast<const char*>(numbers.data()), n);
}

}  // namespace castscope::timeline
