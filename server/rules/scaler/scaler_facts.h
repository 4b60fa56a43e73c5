// Answers questions that the rules about gradient scaling ask about a run's facts.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// Counts how often facts that `belongs` accepts were seen in one process.
std::uint64_t times_seen(const store::RunData&, store::ProcessId process,
                         const std::function<bool(const store::Fact&)>& belongs);
// Returns the first such fact that was seen in the process, by the order of definition; nullptr when there is none.
const store::Fact* first_seen(const store::RunData&, store::ProcessId process,
                              const std::function<bool(const store::Fact&)>& belongs);
inline std::function<bool(const store::Fact&)> of_kind(lanes::FactKind kind) {
  return [kind](const store::Fact& fact) { return fact.kind == kind; };
}

// Returns the c10::ScalarType of the enabled regions that a process entered. An enforced policy may name another dtype
// (`dtype`), or several: then those to which tensors were cast.
std::set<std::uint8_t> region_dtypes(const store::RunData&, store::ProcessId process);
// GradScaler scaled, unscaled or updated in this process.
bool scales_gradients(const store::RunData&, store::ProcessId process);

}  // namespace castscope::rules
