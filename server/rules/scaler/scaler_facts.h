// What the rules about gradient scaling ask of a run's facts.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// How often facts that `belongs` asks for were seen in one process.
std::uint64_t times_seen(const store::RunData&, std::uint32_t process,
                         const std::function<bool(const store::Fact&)>& belongs);
// Of those that were seen in the process: the first one that was defined, nullptr when there is none.
const store::Fact* first_seen(const store::RunData&, std::uint32_t process,
                              const std::function<bool(const store::Fact&)>& belongs);
inline std::function<bool(const store::Fact&)> of_kind(lanes::FactKind kind) {
  return [kind](const store::Fact& fact) { return fact.kind == kind; };
}

// c10::ScalarType of the enabled regions that a process entered. A policy may name another one (`dtype`), or several:
// where one is carried out, those that tensors were cast to.
std::set<std::uint8_t> region_dtypes(const store::RunData&, std::uint32_t process);
// GradScaler scaled, unscaled or updated in this process.
bool scales_gradients(const store::RunData&, std::uint32_t process);

}  // namespace castscope::rules
