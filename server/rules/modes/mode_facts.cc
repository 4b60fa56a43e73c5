#include "server/rules/modes/mode_facts.h"

#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/operators.h"

namespace castscope::rules {

std::map<Line, ModeFacts> mode_facts(const store::RunData& data, lanes::FactKind kind) {
  std::map<Line, ModeFacts> at;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.fact(count.fact);
    if (fact.kind != kind || count.times == 0) continue;
    ModeFacts& here = at[line_of(data, fact.stack)];
    here.facts.push_back(&fact);
    here.processes.insert(count.process);
    here.times += count.times;
  }
  return at;
}

std::string region_place(const store::RunData& data, const store::Fact& fact) {
  return fact.text.empty() ? "" : portable_path(fact.text, data.start.project());
}

std::uint64_t casts_of(const store::RunData& data, const ModeFacts& of) {
  std::set<std::uint32_t> sites;
  for (const store::Fact* fact : of.facts) sites.insert(fact->subject);
  std::uint64_t casts = 0;
  for (const store::SiteUse& use : data.site_uses)
    if (sites.contains(use.site)) casts += use.counts.casts + use.counts.hits;
  return casts;
}

std::string operators_of(const store::RunData& data, const ModeFacts& of) {
  std::set<std::string> names;
  for (const store::Fact* fact : of.facts)
    if (fact->subject != 0) names.insert(short_name(data.site(fact->subject).op));
  return absl::StrJoin(names, ", ");
}

}  // namespace castscope::rules
