// Draws a view of a graph as SVG (docs/decisions/graph.md). Colour stands for a dtype, and a text names it too. Casts
// are marks in the colour of letters: on the line that brings the value, or on the box if the value came from no
// operator.
#pragma once

#include <cstddef>
#include <string>

#include "server/graph/folding.h"
#include "server/report/text/html_writer.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// `id` begins the names that the drawings of the part have on the page. An operator's box links to its row, "#ID-opN";
// a folded module's box links to its drawing, "#ID-viewN".
void draw_view(Html& html, const store::RunData& run, const graph::Part& part, const graph::View& view,
               const std::string& id);

// The class that stands for a dtype on the page: "d-bf16".
std::string dtype_class(std::uint8_t dtype);

}  // namespace castscope::report
