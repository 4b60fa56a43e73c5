#include "server/report/drawings/flame.h"

#include <algorithm>
#include <cstdio>

#include "server/report/text/words.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

constexpr double kRow = 24;              // pixels
constexpr std::size_t kLevels = 12;      // deeper frames are too narrow to be read
constexpr double kThinnest = 0.004;      // of the width: 4 of 1000 pixels
constexpr double kLetterShare = 0.0075;  // of the width, on a page of usual width: what tells nothing is not written
constexpr std::size_t kFewest = 3;       // letters: fewer tell nothing

std::string of_width(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f%%", 100 * share);
  return text;
}

std::string pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::size_t levels_of(const Frame& frame) {
  std::size_t deepest = 0;
  for (const Frame& part : frame.parts) deepest = std::max(deepest, levels_of(part));
  return 1 + deepest;
}

class FlameDrawing {
 public:
  FlameDrawing(Html& html, const Frame& whole) : html_(html), whole_(whole) {}

  void frame(const Frame& one, double from, std::size_t level) {
    box(one, from, one.value / whole_.value, level);
    if (level + 1 == kLevels) return;
    double at = from;
    Frame thin{.name = {}, .tip = {}, .look = "more", .parts = {}};
    std::size_t left_out = 0;
    for (const Frame& part : one.parts) {
      if (part.value / whole_.value < kThinnest) {
        thin.value += part.value;
        ++left_out;
        continue;
      }
      frame(part, at, level + 1);
      at += part.value / whole_.value;
    }
    if (thin.value / whole_.value < kThinnest) return;
    thin.name = counted(left_out, "more", "more");
    thin.tip = counted(left_out, "part is", "parts are") + " too thin to be drawn";
    box(thin, at, thin.value / whole_.value, level + 1);
  }

 private:
  // The name is HTML, which cuts it off with an ellipsis on a page of any width, as SVG cannot.
  void box(const Frame& one, double from, double width, std::size_t level) {
    const auto inner = html_.element("svg", {{"class", one.look},
                                             {"x", of_width(from)},
                                             {"y", pixels(kRow * static_cast<double>(level))},
                                             {"width", of_width(width)},
                                             {"height", pixels(kRow)}});
    html_.leaf("title", one.tip);
    html_.leaf("rect", "", {{"class", "frame"}, {"width", "100%"}, {"height", pixels(kRow)}});
    const std::size_t fits = static_cast<std::size_t>(width / kLetterShare);
    if (fits < std::min(kFewest, utf8::characters(one.name))) return;
    const auto name = html_.element("foreignObject", {{"width", "100%"}, {"height", pixels(kRow)}});
    html_.leaf("div", one.name, {{"class", "name"}});
  }

  Html& html_;
  const Frame& whole_;
};

}  // namespace

void draw_flame(Html& html, const Frame& whole, const std::string& spoken) {
  if (!(whole.value > 0)) return;
  const double height = kRow * static_cast<double>(std::min(levels_of(whole), kLevels));
  const auto svg = html.element(
      "svg",
      {{"class", "flame"}, {"width", "100%"}, {"height", pixels(height)}, {"role", "img"}, {"aria-label", spoken}});
  FlameDrawing(html, whole).frame(whole, 0, 0);
}

}  // namespace castscope::report
