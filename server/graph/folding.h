// Decides how much of a graph one drawing shows. It draws a small graph whole; in a large one, a module is one box that
// has a drawing of its own. Blocks that are alike (the layers of a transformer) share one drawing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/graph/computation.h"

namespace castscope::graph {

inline constexpr std::size_t kNoView = static_cast<std::size_t>(-1);

struct Item {
  std::size_t node = 0;  // the part's node, when the item stands for one operator
  std::string module;    // "encoder.layers.0", when the item stands for all operators in it; "" = one operator
  std::string module_type;
  std::size_t operators = 1;
  std::size_t casts = 0;  // arguments that are cast, within the item
  // For one operator: casts of values that come from outside of the view.
  std::vector<const Edge*> from_outside;
  std::set<std::uint8_t> computed;  // dtypes
  std::size_t view = kNoView;       // the item's drawing; kNoView: it is one operator, or too many are drawn already
  bool folded() const { return !module.empty(); }
};

// All edges from one item to another.
struct Bundle {
  std::size_t from = 0, to = 0;  // items
  std::vector<const Edge*> edges;
};

struct View {
  std::string module;  // the module that is drawn; "" = the whole part
  std::vector<Item> items;
  std::vector<Bundle> bundles;
  std::size_t left_out = 0;  // operators that are too many for one drawing and belong to no module that could be folded
};

struct Limits {
  std::size_t at_once = 48;  // boxes that people take in at a glance; with more, modules are folded
  std::size_t in_one = 250;  // boxes of one view, where they cannot be folded
  std::size_t in_all = 400;  // boxes in all views of a part
};

// Returns the views; the first shows the whole part.
std::vector<View> fold(const Part& part, const Limits& limits = {});

// A path may come from a stranger's file, and whoever draws it goes one call deeper with each step: no model nests as
// many modules as this.
inline constexpr std::size_t kMostModuleSteps = 100;
// Returns a module's name in parts that may be folded: "Net", "encoder", "layers.0". The last of them has the rest of a
// path of more steps.
std::vector<std::string> module_steps(const store::Module& module);

}  // namespace castscope::graph
