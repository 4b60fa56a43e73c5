// What torch.compile compiled, and why it recompiled.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

struct Recompilation {
  std::string guard;  // the guard that failed, as PyTorch words it
  std::uint64_t times = 0;
};
struct Compilation {
  std::string code;               // "forward (net.py:12)"
  store::CodeLocation called_at;  // the user's call that compiled it; no file where it is not known
  std::uint64_t times = 0;        // in all processes, including the recompilations
  std::vector<Recompilation> again;
};

// In the order of first compilation.
std::vector<Compilation> compilations(const store::RunData&);
// docs/report.schema.json, `compilations`.
nlohmann::ordered_json compilations_json(const store::RunData&);

}  // namespace castscope::report
