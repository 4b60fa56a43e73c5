// Turns a definition into bytes: definitions of the same content are one, whichever process brought them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace castscope::store {

// Numbers as they are, texts with their length before them.
template <typename... T>
std::string content(const T&... values) {
  std::string bytes;
  const auto add = [&](const auto& value) {
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>) {
      const std::string_view text = value;
      const std::uint64_t size = text.size();
      bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
    } else {
      const auto number = static_cast<std::uint64_t>(value);
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
  };
  (add(values), ...);
  return bytes;
}

}  // namespace castscope::store
