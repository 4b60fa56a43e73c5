// File names and command lines are bytes; protobuf's strings, JSON and SQLite's texts are UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace castscope::wire {

// Length of the valid UTF-8 sequence at the beginning of `text`, 0 when there is none. Surrogates, overlong forms and
// numbers past U+10FFFF are not valid.
inline std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

// `text` with U+FFFD in place of every byte that is no part of valid UTF-8.
inline std::string to_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0)
      result += "\xef\xbf\xbd";
    else
      result += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace castscope::wire
