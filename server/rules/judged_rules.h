// How far each rule could judge a run: an empty list of findings means that all is well only where it says `full`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/evidence/counts/looked_at.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::rules {

enum class Judged : std::uint8_t {
  kFull,     // all that the rule looks at was recorded
  kSampled,  // all code that casts was looked at, in some of the steps: what only other steps did is not known
  kPartly,   // of some code nothing was recorded: there may be more than the rule found
  kNot,      // nothing was recorded, or the rule was not asked
};
std::string_view name(Judged);  // "full", "sampled", "partly", "not"

struct JudgedRule {
  const Rule* rule = nullptr;
  Judged judged = Judged::kFull;
  std::string because = {};  // a sentence without its full stop; "" where it is full
  bool deselected = false;   // castscope.json does not select it
};

// In the order of all_rules().
std::vector<JudgedRule> judged_rules(const store::RunData&, const LookedAt&, const Settings&);

}  // namespace castscope::rules
