// Draws a flame view as SVG: each frame is as wide as its share, and stands below the one that it is part of. Widths
// are shares of the page's width, so the letters keep their size on any screen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/report/text/html_writer.h"

namespace castscope::report {

struct Frame {
  std::string name;
  std::string tip;   // shown when the mouse points at the frame
  std::string look;  // its class in the style sheet, which gives it its colour
  double value = 0;  // not less than those of the parts together
  std::vector<Frame> parts;
};

// Parts that would be thinner than a line are drawn as one. `spoken` says what the drawing shows to those who cannot
// see it.
void draw_flame(Html& html, const Frame& whole, const std::string& spoken);

}  // namespace castscope::report
