// Prepares findings for people: those that castscope.json or a comment in the code silences are counted, not shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/evidence/counts/looked_at.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/inquiry/settings.h"
#include "server/rules/judged_rules.h"
#include "server/store/run/run_data.h"
#include "server/store/run/source_lines.h"

namespace castscope::rules {

struct Judgement {
  std::vector<Finding> findings;          // in the order of judge()
  std::vector<Finding> silenced;          // in the same order
  std::uint64_t ignored_by_settings = 0;  // castscope.json: `ignore` and `per-path-ignores`
  std::uint64_t ignored_in_code = 0;      // a comment on the finding's line
  // Sentences about settings that have no effect: comments on findings' lines, a policy of another device.
  std::vector<std::string> hints;
  Settings settings;  // by which it was judged
  // How far the rules could judge: filled by weigh().
  LookedAt looked_at;
  std::vector<JudgedRule> rules;
};

// Sorts the findings out. `project`: RunStart::project(). A line whose text is not kept silences nothing.
Judgement sort_out(std::vector<Finding> findings, const Settings&, const store::SourceLines&, std::string_view project);

// Sorts out the findings that judge() made of this run, and adds hints at policies that had no effect.
Judgement weigh(std::vector<Finding> found, const store::RunData&, const Settings&);
// Runs judge() and weigh().
Judgement judgement_of(const store::RunData&, const Settings& = {});

// Returns whether a comment on this line silences the rule: `# castscope: ignore` silences all rules, `# castscope:
// ignore[a, cache-*]` those that it names. Any other text after `ignore`, except ` -- a reason`, makes the comment
// silence nothing, as it may be a name.
bool silences(std::string_view source_line, std::string_view rule);
// Returns the comment on this line from the first "# castscope:" on; "" = none. A # in a string begins no comment.
std::string_view directive_comment(std::string_view source_line);
// Returns what is wrong with such a comment on this line: it names something that is not a rule, or misspells "ignore",
// or only looks like a directive; "" = nothing.
std::string wrong_in_comment(std::string_view source_line);

}  // namespace castscope::rules
