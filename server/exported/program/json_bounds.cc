#include "server/exported/program/json_bounds.h"

#include <cstddef>

namespace castscope::exported {
namespace {

// A graph within a graph takes eight levels, and no model nests twenty regions.
constexpr std::size_t kMostDepth = 200;
// Each value takes at most 100 bytes of memory: 2 GB together. The largest models have some hundred thousand operators
// with 60 values each.
constexpr std::size_t kMostValues = 20'000'000;

}  // namespace

std::string_view beyond_bounds(std::string_view json) {
  std::size_t depth = 0, values = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_text = false;
      continue;
    }
    if (c == '"') in_text = true;
    if (c == '[' || c == '{') {
      if (++depth > kMostDepth) return "its JSON is nested deeper than any program's";
      ++values;
    }
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',' && ++values > kMostValues) return "its JSON has more values than any program's";
  }
  return values > kMostValues ? "its JSON has more values than any program's" : "";
}

}  // namespace castscope::exported
