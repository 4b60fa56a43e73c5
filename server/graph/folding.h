// What of a graph is drawn at once: few operators all of them; of many, those of a module as one box, which has a
// drawing of its own. Blocks that are alike (the layers of a transformer) share one.
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
  std::size_t node = 0;  // of the part, when it stands for one operator
  std::string module;    // "encoder.layers.0", when it stands for all that is called in it; "" = one operator
  std::string module_type;
  std::size_t operators = 1;
  std::size_t casts = 0;  // arguments that are cast, in it
  // Of one operator: casts of values that come from outside of the view.
  std::vector<const Edge*> from_outside;
  std::set<std::uint8_t> computed;  // dtypes
  std::size_t view = kNoView;       // its drawing; kNoView: of one operator, or too many are drawn already
  bool folded() const { return !module.empty(); }
};

// All that goes from one item to another.
struct Bundle {
  std::size_t from = 0, to = 0;  // items
  std::vector<const Edge*> edges;
};

struct View {
  std::string module;  // what it is a drawing of; "" = the whole part
  std::vector<Item> items;
  std::vector<Bundle> bundles;
  std::size_t left_out = 0;  // operators that are too many for one drawing and belong to no module that could be folded
};

struct Limits {
  std::size_t at_once = 48;  // more boxes are not taken in at a glance: modules are folded
  std::size_t in_one = 250;  // that cannot be folded
  std::size_t in_all = 400;  // drawn in all views of a part
};

// The first is that of the whole part.
std::vector<View> fold(const Part& part, const Limits& limits = {});

// What a module is called, in parts that may be folded: "Net", "encoder", "layers.0".
std::vector<std::string> module_steps(const store::Module& module);

}  // namespace castscope::graph
