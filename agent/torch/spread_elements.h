// Chooses the elements of a tensor to look at where not all can be, and tells where they lie. No torch header here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace castscope::agent {

// The offset of the element with this number (in the order of the dimensions), in elements from the first.
inline std::int64_t offset_of(std::uint64_t number, const std::int64_t* sizes, const std::int64_t* strides,
                              std::size_t dims) {
  std::int64_t offset = 0;
  for (std::size_t d = dims; d-- > 0;) {
    const auto size = static_cast<std::uint64_t>(sizes[d]);
    offset += static_cast<std::int64_t>(number % size) * strides[d];
    number /= size;
  }
  return offset;
}

// Calls `see(number)` for every element where there are at most `most`, else for so many evenly spread ones, with the
// first and the last among them. `most` > 1.
template <typename See>
void each_spread(std::uint64_t elements, std::uint64_t most, See see) {
  const std::uint64_t n = std::min(elements, most);
  for (std::uint64_t i = 0; i < n; ++i)
    see(n < 2 ? 0 : static_cast<std::uint64_t>(static_cast<unsigned __int128>(elements - 1) * i / (n - 1)));
}

}  // namespace castscope::agent
