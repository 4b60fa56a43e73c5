// Places boxes and the lines between them, from top to bottom: layers by the longest path, the order within a layer by
// barycentres, coordinates that keep lines straight (after Sugiyama, Tagawa and Toda).
//
// docs/decisions/graph.md says why castscope has a layout of its own.
#pragma once

#include <cstddef>
#include <vector>

namespace castscope::graph {

struct Box {
  double width = 0, height = 0;
};
// Boxes are in the order of the computation, so that a link from a later box to an earlier one goes upwards.
struct Link {
  std::size_t from = 0, to = 0;
};
struct Point {
  double x = 0, y = 0;
};

struct Layout {
  std::vector<Point> boxes;                // left upper corners
  std::vector<std::vector<Point>> routes;  // by link: from the first box's edge to the other's, with the bends between
  double width = 0, height = 0;
};

struct Spacing {
  double beside = 26;   // between two boxes of a layer
  double between = 56;  // between two layers
  double lane = 14;     // width that a passing line takes in a layer
};

Layout lay_out(const std::vector<Box>& boxes, const std::vector<Link>& links, const Spacing& spacing = {});

}  // namespace castscope::graph
