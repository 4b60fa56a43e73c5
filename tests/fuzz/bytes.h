// An input as a series of numbers and texts, for fuzzers that make something well-formed of it. Where the input has
// ended, all numbers are 0 and all texts empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace castscope::fuzz {

class Bytes {
 public:
  explicit Bytes(std::string_view input) : rest_(input) {}
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  template <typename T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::string_view bytes = some(sizeof value);
    if (!bytes.empty()) std::memcpy(static_cast<void*>(&value), bytes.data(), bytes.size());
    return value;
  }
  std::uint8_t byte() { return take<std::uint8_t>(); }
  bool flag() { return (byte() & 1) != 0; }
  // 0 to `most`.
  std::uint32_t up_to(std::uint32_t most) {
    return most < 256 ? byte() % (most + 1) : static_cast<std::uint32_t>(take<std::uint32_t>() % (most + 1ull));
  }
  // Mostly a small number, at times any.
  std::uint64_t number() {
    const std::uint8_t first = byte();
    return first < 240 ? first : first < 248 ? take<std::uint16_t>() : take<std::uint64_t>();
  }
  // The next bytes, as many as there are.
  std::string_view some(std::size_t count) {
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  // A text of at most 255 bytes, or, with two bytes for its length, of any size.
  std::string text() { return std::string(some(byte())); }
  std::string_view long_text() { return some(take<std::uint16_t>()); }

 private:
  std::string_view rest_;
};

}  // namespace castscope::fuzz
