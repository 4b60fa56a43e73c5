// Errors by which autocast refuses an operator in a region, and who says so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct Ban {
  std::string op;      // "binary_cross_entropy"; "" = the text does not tell
  std::string policy;  // the enforced one that bans it; "" = PyTorch does
};

// In the text of an error.
std::optional<Ban> ban_in(const store::RunData&, std::string_view text);

}  // namespace castscope::rules
