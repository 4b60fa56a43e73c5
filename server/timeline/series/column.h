// Stores whole numbers in as few bytes each as the largest of them takes; takes no bytes where every number is 0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace castscope::timeline {

class Column {
 public:
  Column() = default;
  // Stores the numbers that `get` returns for 0 … n - 1.
  template <typename Get>
  Column(std::size_t n, const Get& get) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < n; ++i) all |= static_cast<std::uint64_t>(get(i));
    width_ = all == 0 ? 0 : std::bit_ceil((static_cast<unsigned>(std::bit_width(all)) + 7) / 8);
    bytes_ = n * width_;
    if (width_ == 0) return;
    data_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    for (std::size_t i = 0; i < n; ++i) {
      const auto number = static_cast<std::uint64_t>(get(i));
      std::memcpy(&data_[i * width_], &number, width_);  // little-endian, as everywhere here
    }
  }
  std::uint64_t operator[](std::size_t i) const {
    switch (width_) {
      case 0:
        return 0;
      case 1:
        return at<std::uint8_t>(i);
      case 2:
        return at<std::uint16_t>(i);
      case 4:
        return at<std::uint32_t>(i);
      default:
        return at<std::uint64_t>(i);
    }
  }
  std::size_t memory() const { return bytes_; }

 private:
  template <typename T>
  T at(std::size_t i) const {
    T number;
    std::memcpy(&number, &data_[i * sizeof(T)], sizeof(T));
    return number;
  }
  std::unique_ptr<std::byte[]> data_;
  std::size_t bytes_ = 0;
  unsigned width_ = 0;
};

}  // namespace castscope::timeline
