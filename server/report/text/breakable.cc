#include "server/report/text/breakable.h"

#include <algorithm>
#include <cstddef>

#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

constexpr std::size_t kShort = 14;  // characters: as wide as a cell always is

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool breaks_after(char c) { return c == '/' || c == '_' || c == '.' || c == ':' || c == '-'; }

// Returns whether the text begins with the ending of a file's name and a line number, such as ".py:12".
bool is_ending_with_line(std::string_view text) {
  if (!text.starts_with('.')) return false;
  std::size_t at = 1;
  while (at < text.size() && is_lower(text[at])) ++at;
  return at > 1 && at + 1 < text.size() && text[at] == ':' && is_digit(text[at + 1]);
}

// Writes what has no place of its own to break at.
void write_piece(Html& html, std::string_view piece) {
  std::size_t stem = 0;
  while (stem < piece.size() && !is_ending_with_line(piece.substr(stem))) ++stem;
  for (std::size_t left = utf8::characters(piece.substr(0, stem)); left > kShort;) {
    std::size_t to = 0, hump = 0;
    for (std::size_t n = 0; n < kShort; ++n) {
      if (to > 0 && is_upper(piece[to]) && is_lower(piece[to - 1])) hump = to;
      do ++to;
      while (utf8::continues(piece[to]));
    }
    if (is_upper(piece[to]) && is_lower(piece[to - 1])) hump = to;
    if (hump > 0) to = hump;
    html.text(piece.substr(0, to));
    html.empty("wbr");
    left -= utf8::characters(piece.substr(0, to));
    piece.remove_prefix(to);
  }
  html.text(piece);
}

void write_word(Html& html, std::string_view word) {
  for (std::size_t at = 1; at + 1 < word.size();) {
    const bool breaks = breaks_after(word[at]) && !breaks_after(word[at + 1]) && word[at + 1] != ' ' &&
                        !(word[at] == ':' && is_digit(word[at + 1])) && !is_ending_with_line(word.substr(at));
    if (!breaks) {
      ++at;
      continue;
    }
    write_piece(html, word.substr(0, at + 1));
    html.empty("wbr");
    word.remove_prefix(at + 1);
    at = 1;
  }
  write_piece(html, word);
}

}  // namespace

void write_breakable(Html& html, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size() - 1) + 1;  // with its space
    const std::string_view word = text.substr(0, end);
    if (utf8::characters(word) > kShort)
      write_word(html, word);
    else
      html.text(word);
    text.remove_prefix(end);
  }
}

}  // namespace castscope::report
