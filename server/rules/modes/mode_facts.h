// What the agent saw of other modes than eager (lanes::FactKind::kScript…, kTrace…, kCompile…, kExport…), by the lines
// of the user's that they stand at.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/rules/places.h"
#include "server/rules/rules.h"

namespace castscope::rules {

// Facts of one kind at one line.
struct ModeFacts {
  std::vector<const store::Fact*> facts;  // at least one
  std::set<std::uint32_t> processes;
  std::uint64_t times = 0;
  const store::Fact& first() const { return *facts.front(); }
};
std::map<Line, ModeFacts> mode_facts(const store::RunData&, lanes::FactKind);

// Of a fact whose text is the place of a region, "file:line": relative to the run's folder; "" when it is not known.
std::string region_place(const store::RunData&, const store::Fact&);

// Casts of the sites that these facts are about, in the run.
std::uint64_t casts_of(const store::RunData&, const ModeFacts&);
// "mm, linear": the operators of those sites.
std::string operators_of(const store::RunData&, const ModeFacts&);

}  // namespace castscope::rules
