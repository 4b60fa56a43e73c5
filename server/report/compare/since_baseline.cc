#include "server/report/compare/since_baseline.h"

#include <set>
#include <span>

namespace castscope::report {

SinceBaseline since_baseline(const Model& model, const Account& baseline) {
  const std::set<std::string> before(baseline.fingerprints.begin(), baseline.fingerprints.end());
  const Account account = account_of(model, "");
  std::set<std::string> now;
  const auto held = [&](std::span<const store::Finding> findings, std::span<const std::string> prints) {
    std::vector<AgainstBaseline> all;
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const bool known = before.contains(prints[i]);
      all.push_back({.known = known, .looked_at = known || could_find(baseline, account, findings[i])});
      now.insert(prints[i]);
    }
    return all;
  };
  SinceBaseline since;
  since.project = baseline.project;
  since.findings = held(model.findings, model.fingerprints);
  since.silenced = held(model.silenced, model.silenced_fingerprints);
  for (std::size_t i = 0; i < baseline.findings.size(); ++i) {
    const std::string& print = baseline.fingerprints[i];
    if (now.contains(print)) continue;
    const store::Finding& finding = baseline.findings[i];
    since.gone.push_back({finding, print, could_find(account, baseline, finding)});
  }
  return since;
}

}  // namespace castscope::report
