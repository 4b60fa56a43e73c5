#include "server/report/text/lines.h"

#include <algorithm>
#include <cctype>

#include "server/utf8/utf8.h"

namespace castscope::report {

std::size_t columns(std::string_view text) { return utf8::characters(text); }

namespace {

// Finds the end of the next words, which are not to be torn apart: "3 %", "1.4 s", "12 MB".
std::size_t end_of_words(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.find(' ', at), text.size());
  if (end == at || end == text.size() || !std::isdigit(static_cast<unsigned char>(text[end - 1]))) return end;
  const std::size_t end_of_unit = std::min(text.find_first_of(" .,;:)", end + 1), text.size());
  return columns(text.substr(end + 1, end_of_unit - end - 1)) <= 2 ? std::min(text.find(' ', end + 1), text.size())
                                                                   : end;
}

}  // namespace

std::string wrapped(const std::string& first_indent, const std::string& indent, std::string_view text, int width) {
  std::string all, current = first_indent;
  bool empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_words(text, at);
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
