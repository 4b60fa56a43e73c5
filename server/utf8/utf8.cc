#include "server/utf8/utf8.h"

#include <algorithm>
#include <charconv>

namespace castscope::utf8 {

std::size_t first_character(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length), continues)) return 0;
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xed && byte(1) > 0x9f;
  const bool too_large = lead == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_large ? 0 : length;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string repaired(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = first_character(text);
    valid += length > 0 ? text.substr(0, length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

std::size_t cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t end = most;
  while (end > 0 && continues(text[end])) --end;
  return end;
}

std::string bytes_of_name(std::string_view name) {
  std::string bytes;
  for (std::size_t at = 0; at < name.size();) {
    unsigned byte = 0;
    const std::string_view escaped = name.substr(at, 6);
    const bool is_escaped =
        escaped.size() == 6 && escaped.starts_with("\\udc") &&
        std::from_chars(escaped.data() + 4, escaped.data() + 6, byte, 16).ptr == escaped.data() + 6 && byte >= 0x80;
    bytes += is_escaped ? static_cast<char>(byte) : name[at];
    at += is_escaped ? escaped.size() : 1;
  }
  return bytes;
}

std::string on_one_line(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_c1 = i > 0 && c >= 0x80 && c < 0xa0 && text[i - 1] == '\xc2';
    if (c < ' ' || c == 0x7f || is_c1) text[i] = '?';
    if (is_c1) text[i - 1] = '?';
  }
  return text;
}

std::string sentence_of_others(std::string_view text) {
  std::string sentence = on_one_line(repaired(text.substr(0, kMostOfASentence + 1)));
  if (sentence.size() <= kMostOfASentence) return sentence;
  return sentence.substr(0, cut(sentence, kMostOfASentence)) + "…";
}

}  // namespace castscope::utf8
