// How a picture tells one number for each column, a byte each: the fills of a band, or its shades. A u8 tells the form,
// which is the shortest of these:
//
//   0  u8: the number of every column
//   1  u8, u8, then a bit for each column, which tells whether it has the first number or the second
//   2  a bit for each column, set where the number is not that of the column before, and for column 0; then a u8 for
//      each bit that is set
//   3  a u8 for each column
//
// The lowest bit of a byte comes first; the last byte is filled up with zeros.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace castscope::timeline {

enum class PlaneForm : std::uint8_t { kOne, kTwo, kChanges, kEach };

class PlaneWriter {
 public:
  // `numbers` is not empty.
  void append(std::span<const std::uint8_t> numbers, std::string* text);

 private:
  std::vector<std::uint8_t> flags_;  // kept for its room
};

}  // namespace castscope::timeline
