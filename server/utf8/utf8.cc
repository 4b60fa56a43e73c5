#include "server/utf8/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace castscope::utf8 {
namespace {

// The first and the last of each, past ASCII.
constexpr std::array<std::pair<char32_t, char32_t>, 11> kControls = {{
    {0x80, 0x9f},        // C1
    {0xad, 0xad},        // the soft hyphen
    {0x61c, 0x61c},      // the Arabic letter mark
    {0x180e, 0x180e},    // a vowel separator without width
    {0x200b, 0x200f},    // without width, and marks of direction
    {0x2028, 0x202e},    // ends of lines and paragraphs, and embeddings and overrides of direction
    {0x2060, 0x206f},    // without width, and isolates of direction
    {0xfeff, 0xfeff},    // the byte order mark, without width
    {0xfff9, 0xfffb},    // annotations
    {0x1d173, 0x1d17a},  // of musical notation
    {0xe0000, 0xe007f},  // tags, which nobody sees
}};

}  // namespace

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

std::size_t control_at(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < ' ' || first == 0x7f) return 1;
  const std::size_t length = first < 0xc2 ? 0 : first_character(text);
  if (length < 2) return 0;
  char32_t code = first & (0x7fu >> length);
  for (const char c : text.substr(1, length - 1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  const auto within = [code](const auto& range) { return code >= range.first && code <= range.second; };
  return std::ranges::any_of(kControls, within) ? length : 0;
}

std::string on_one_line(std::string text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = control_at(std::string_view(text).substr(at));
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), length, '?');
    at += std::max<std::size_t>(length, 1);
  }
  return text;
}

std::string sentence_of_others(std::string_view text) {
  std::string sentence = on_one_line(repaired(text.substr(0, kMostOfASentence + 1)));
  if (sentence.size() <= kMostOfASentence) return sentence;
  return sentence.substr(0, cut(sentence, kMostOfASentence)) + "…";
}

std::string quoted(std::string_view text, std::size_t most) {
  std::string escaped = "\"";
  for (const char c : on_one_line(shortened(text, most))) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped + '"';
}

std::string shortened(std::string_view text, std::size_t most) {
  const std::size_t length = cut(text, most);
  if (length == text.size()) return std::string(text);
  return std::string(text.substr(0, length)) + "… (" + std::to_string(text.size() - length) + " more bytes)";
}

}  // namespace castscope::utf8
