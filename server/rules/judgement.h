// Findings as people get to see them: what castscope.json or a comment in the code silences is counted, not shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/evidence/finding.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"
#include "server/store/run/source_lines.h"

namespace castscope::rules {

struct Judgement {
  std::vector<Finding> findings;          // in the order of judge()
  std::vector<Finding> silenced;          // in the same order
  std::uint64_t ignored_by_settings = 0;  // castscope.json: `ignore` and `per-path-ignores`
  std::uint64_t ignored_in_code = 0;      // a comment on the finding's line
  std::vector<std::string>
      hints;  // what was to have an effect and has none: comments on findings' lines, a policy of another device
};

// `project`: RunStart::project(). A line whose text is not kept silences nothing.
Judgement sort_out(std::vector<Finding> findings, const Settings&, const store::SourceLines&, std::string_view project);

// The same of what judge() found in this run, with hints at policies that came to nothing.
Judgement weigh(std::vector<Finding> found, const store::RunData&, const Settings&);
// judge() and weigh() in one.
Judgement judgement_of(const store::RunData&, const Settings& = {});

// Does a comment on this line silence the rule? `# castscope: ignore` silences all, `# castscope: ignore[a, cache-*]`
// what it names. What else follows `ignore`, but for ` -- a reason`, makes it silence nothing: it may be a name.
bool silences(std::string_view source_line, std::string_view rule);
// Of the comment on this line, from the first "# castscope:" on; "" = none. A # in a string begins no comment.
std::string_view directive_comment(std::string_view source_line);
// What is wrong with such a comment on this line: it names what is no rule, or does not say "ignore" as it is said, or
// only looks like one; "" = nothing.
std::string wrong_in_comment(std::string_view source_line);

}  // namespace castscope::rules
