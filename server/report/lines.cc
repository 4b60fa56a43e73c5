#include "server/report/lines.h"

#include <algorithm>

namespace castscope::report {

std::size_t columns(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::string wrapped(const std::string& first_indent, const std::string& indent, std::string_view text, int width) {
  std::string all, current = first_indent;
  bool empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!empty && columns(current) + 1 + columns(word) > static_cast<std::size_t>(width)) {
      all += current + "\n";
      current = indent;
      empty = true;
    }
    if (!empty) current += ' ';
    current += word;
    empty = false;
    at = end + 1;
  }
  return all + current + "\n";
}

}  // namespace castscope::report
