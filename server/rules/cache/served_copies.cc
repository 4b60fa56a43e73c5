#include "server/rules/cache/served_copies.h"

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/weights.h"

namespace castscope::rules {

using lanes::Staleness;

ServedByPlace served_copies(const store::RunData& data, lanes::FactKind kind, bool (*wanted)(const store::Site&)) {
  ServedByPlace places;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.facts[count.fact];
    if (fact.kind != kind || count.times == 0 || fact.subject == 0) continue;
    const auto how = static_cast<Staleness>(fact.detail);
    if (kind == lanes::FactKind::kStaleHit && (how == Staleness::kNone || how == Staleness::kSameValues)) continue;
    const store::Site& site = data.sites[store::SiteId(fact.subject)];
    if (!wanted(site)) continue;
    ServedCopies& served = places[line_of(data, fact.stack)];
    if (served.stack == 0) {
      served.stack = fact.stack;
      served.region = data.outermost(site.region);
    }
    served.times += count.times;
    served.sources.insert(weight_name(data, site));
    if (kind == lanes::FactKind::kStaleHit) served.changes.insert(how);
  }
  return places;
}

std::string changes_text(const std::set<Staleness>& changes) {
  std::string text;
  for (const Staleness how : changes) {
    if (!text.empty()) text += "; ";
    switch (how) {
      case Staleness::kVersion:
        text += "written to in place";
        break;
      case Staleness::kMoved:
        text += "given other memory (p.data = …)";
        break;
      case Staleness::kUnversioned:
        text += "written to past autograd (a fused optimizer, p.data, a NumPy view)";
        break;
      default:
        break;
    }
  }
  return text;
}

void add_opening_place(const store::RunData& data, store::RegionId region, Finding& finding) {
  const store::StackId stack = region == 0 ? store::StackId() : data.regions[region].stack;
  if (!data.user_location(stack)) return;
  finding.evidence_text.emplace_back("region_opened_at", place_text(data, line_of(data, stack)));
  add_related(finding, data, stack);
}

}  // namespace castscope::rules
