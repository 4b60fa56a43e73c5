// Lines for a terminal: broken at its width, coloured where it has colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace castscope::report {

using TerminalLines = std::vector<std::string>;

class TerminalText {
 public:
  TerminalText(int width, bool colour);

  // Breaks a paragraph at spaces; `head` stands before its first word in this style, `indent` before its other lines.
  // What the texts hold is made harmless: a terminal obeys control characters.
  struct Head {
    std::string text;
    const char* style = "";  // the numbers of an SGR sequence, "31"; "" = none
  };
  TerminalLines paragraph(const Head& head, const std::string& indent, const std::string& text) const;
  // A paragraph's first `most` lines; if there are more, the last one ends with "…".
  TerminalLines beginning(TerminalLines lines, std::size_t most) const;
  // One line, cut at the width: "  41 %  train.py:14  linear weight": `styled` words in their styles.
  std::string one_line(const std::vector<Head>& words) const;
  // Whether one_line() would show all of it.
  bool fits(const std::vector<Head>& words) const;
  std::string styled(const char* style, const std::string& text) const;

 private:
  std::string cut(const std::string& text) const;
  int width_;
  bool colour_;
};

}  // namespace castscope::report
