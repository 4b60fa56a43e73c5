#include "server/rules/evidence/mode_facts.h"

#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/store/run/names.h"

namespace castscope::rules {

std::map<Line, ModeFacts> mode_facts(const store::RunData& data, lanes::FactKind kind) {
  std::map<Line, ModeFacts> at;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.facts[count.fact];
    if (fact.kind != kind || count.times == 0) continue;
    ModeFacts& here = at[line_of(data, fact.stack)];
    here.facts.push_back(&fact);
    here.processes.insert(count.process);
    here.times += count.times;
  }
  return at;
}

std::string region_in_title(const store::RunData& data, const ModeFacts& of) {
  const std::string& place = of.first().text;
  return place.empty() ? "" : " (" + portable_path(place, data.start.project()) + ")";
}

void add_region(Finding& finding, const store::RunData& data, const ModeFacts& of) {
  const std::string& place = of.first().text;
  if (!place.empty())
    finding.evidence_text.emplace_back("region_opened_at", portable_path(place, data.start.project()));
}

void add_casts(Finding& finding, const store::RunData& data, const ModeFacts& of) {
  std::set<store::SiteId> sites;
  for (const store::Fact* fact : of.facts) sites.insert(store::SiteId(fact->subject));
  std::uint64_t casts = 0;
  for (const store::SiteUse& use : data.site_uses)
    if (sites.contains(use.site)) casts += use.counts.casts + use.counts.hits;
  finding.evidence_number = {{"casts", casts}};
  finding.evidence_text = {{"operator_names", operators_of(data, of)}};
  add_region(finding, data, of);
}

std::set<Line> lines_cast_though_off(const store::RunData& data) {
  std::set<Line> lines;
  const auto seen = times_of_facts(data);
  for (const store::Fact& fact : data.facts) {
    const bool told =
        fact.kind == lanes::FactKind::kScriptIgnoresDisable || fact.kind == lanes::FactKind::kTraceDropsDisable;
    if (told && seen[fact.id] > 0) lines.insert(line_of(data, fact.stack));
  }
  return lines;
}

std::string autocast_off(std::uint8_t device) {
  return "`with torch.autocast(\"" + std::string(store::device_name(device)) + "\", enabled=False):`";
}

std::string call_with_autocast_off(std::uint8_t device) {
  return "Call the script in " + autocast_off(device) +
         ", since a script cannot switch off a region that Python opened around its call. What the script is to "
         "compute in low precision then goes into an enabled region within it.";
}

std::uint8_t device_of(const store::RunData& data, const ModeFacts& of) {
  for (const store::Fact* fact : of.facts)
    if (fact->subject != 0) return data.sites[store::SiteId(fact->subject)].device;
  return 0;
}

std::string operators_of(const store::RunData& data, const ModeFacts& of) {
  std::set<std::string> names;
  for (const store::Fact* fact : of.facts)
    if (fact->subject != 0) names.insert(short_name(data.sites[store::SiteId(fact->subject)].op));
  return absl::StrJoin(names, ", ");
}

}  // namespace castscope::rules
