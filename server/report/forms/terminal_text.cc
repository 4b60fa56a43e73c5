#include "server/report/forms/terminal_text.h"

#include <algorithm>

#include "server/report/text/lines.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

constexpr std::string_view kCut = "…";

TerminalLines lines_of(const std::string& text) {
  TerminalLines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Returns the first `most` characters of UTF-8.
std::string first_characters(const std::string& text, std::size_t most) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && seen++ == most) break;
  }
  return text.substr(0, at);
}

}  // namespace

TerminalText::TerminalText(int width, bool colour) : width_(std::clamp(width, 20, 160)), colour_(colour) {}

std::string TerminalText::styled(const char* style, const std::string& text) const {
  return colour_ && *style != '\0' ? std::string("\033[") + style + "m" + text + "\033[0m" : text;
}

// Styles come last, since they take no room.
TerminalLines TerminalText::paragraph(const Head& head, const std::string& indent, const std::string& text) const {
  const std::string first = on_one_line(head.text);
  TerminalLines lines = lines_of(wrapped(first, indent, on_one_line(text), width_));
  if (!lines.empty()) lines.front() = styled(head.style, first) + lines.front().substr(first.size());
  return lines;
}

TerminalLines TerminalText::beginning(TerminalLines lines, std::size_t most) const {
  if (lines.size() <= most) return lines;
  lines.resize(most);
  if (lines.empty()) return lines;
  std::string& last = lines.back();
  if (columns(last) + 2 > static_cast<std::size_t>(width_)) last.erase(last.find_last_of(' '));
  last += " …";
  return lines;
}

std::string TerminalText::cut(const std::string& text) const {
  const auto width = static_cast<std::size_t>(width_);
  return columns(text) <= width ? text : first_characters(text, width - 1).append(kCut);
}

bool TerminalText::fits(const std::vector<Head>& words) const {
  std::size_t taken = 0;
  for (const Head& word : words) taken += columns(on_one_line(word.text));
  return taken <= static_cast<std::size_t>(width_);
}

std::string TerminalText::one_line(const std::vector<Head>& words) const {
  std::string plain;
  for (const Head& word : words) plain += on_one_line(word.text);
  const std::string shown = cut(plain);
  const bool is_cut = shown != plain;
  const std::size_t kept = is_cut ? shown.size() - kCut.size() : shown.size();
  std::string line;
  std::size_t at = 0;
  for (const Head& word : words) {
    if (at >= kept) break;
    line += styled(word.style, plain.substr(at, std::min(word.text.size(), kept - at)));
    at += word.text.size();
  }
  return is_cut ? line.append(kCut) : line;
}

}  // namespace castscope::report
