#include "server/report/text/html_writer.h"

#include <algorithm>

#include "server/report/text/words.h"
#include "server/utf8/utf8.h"

namespace castscope::report {

std::string html_escaped(std::string_view text) {
  std::string escaped;
  const std::string valid = utf8::repaired(text);
  for (std::size_t at = 0; at < valid.size();) {
    const char c = valid[at];
    const std::size_t control = utf8::control_at(std::string_view(valid).substr(at));
    at += std::max<std::size_t>(control, 1);
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (control == 0 || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

void Html::begin(std::string_view tag, Attributes attributes) {
  out_.append("<").append(tag);
  for (const auto& [name, value] : attributes) {
    out_.append(" ").append(name).append("=\"").append(html_escaped(value)).append("\"");
  }
  out_ += '>';
}
// Writes no line ends within a line of text: in <pre> they would show.
void Html::end(std::string_view tag) {
  const bool within_text = tag == "code" || tag == "i" || tag == "span" || tag == "strong";
  out_.append("</").append(tag).append(within_text ? ">" : ">\n");
}

Html::Scope Html::element(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  return {*this, tag};
}
void Html::empty(std::string_view tag, Attributes attributes) { begin(tag, attributes); }
void Html::leaf(std::string_view tag, std::string_view text, Attributes attributes) {
  begin(tag, attributes);
  out_ += html_escaped(text);
  end(tag);
}
void Html::text(std::string_view text) { out_ += html_escaped(text); }

}  // namespace castscope::report
