#include "server/report/model/unjudged.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace castscope::report {

std::vector<std::string> unjudged_sentences(std::span<const rules::JudgedRule> rules) {
  std::vector<std::pair<std::string, std::size_t>> groups;  // what is said, of how many rules
  for (const rules::JudgedRule& of : rules) {
    if (of.judged <= rules::Judged::kSampled || of.deselected) continue;
    const char* const how =
        of.judged == rules::Judged::kNot ? "could not judge the run: " : "could judge only part of the run: ";
    const std::string what = how + of.because;
    const auto known = std::ranges::find(groups, what, &std::pair<std::string, std::size_t>::first);
    if (known == groups.end())
      groups.emplace_back(what, 1);
    else
      ++known->second;
  }
  std::vector<std::string> all;
  for (const auto& [what, count] : groups) all.push_back(absl::StrCat(count, " of ", rules.size(), " rules ", what));
  return all;
}

}  // namespace castscope::report
