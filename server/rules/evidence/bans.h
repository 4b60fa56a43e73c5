// Recognises errors by which autocast refuses an operator in a region, and whether PyTorch or a policy bans it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct Ban {
  std::string op;      // "binary_cross_entropy"; "" = the text does not name it
  std::string policy;  // the enforced policy that bans it; "" = PyTorch does
};

// Finds a ban in the text of an error.
std::optional<Ban> ban_in(const store::RunData&, std::string_view text);

}  // namespace castscope::rules
