#include "server/report/compare/since_baseline.h"

#include <set>

#include "server/report/compare/comparable.h"

namespace castscope::report {

SinceBaseline since_baseline(const Model& model, const Account& baseline) {
  Account account = account_of(model, "");
  const std::size_t told = account.findings.size();
  account.findings.insert(account.findings.end(), model.silenced.begin(), model.silenced.end());
  account.fingerprints.insert(account.fingerprints.end(), model.silenced_fingerprints.begin(),
                              model.silenced_fingerprints.end());
  const Comparable two = comparable(baseline, account);
  const std::set<std::string> before(two.before.fingerprints.begin(), two.before.fingerprints.end());
  const std::set<std::string> now(two.after.fingerprints.begin(), two.after.fingerprints.end());
  SinceBaseline since;
  since.project = baseline.project;
  for (std::size_t i = 0; i < two.after.findings.size(); ++i) {
    const bool known = before.contains(two.after.fingerprints[i]);
    (i < told ? since.findings : since.silenced)
        .push_back({.known = known, .looked_at = known || could_find(two.before, two.after, two.after.findings[i])});
  }
  for (std::size_t i = 0; i < baseline.findings.size(); ++i) {
    if (now.contains(two.before.fingerprints[i])) continue;
    const store::Finding& finding = baseline.findings[i];
    since.gone.push_back({finding, baseline.fingerprints[i], could_find(two.after, two.before, finding)});
  }
  return since;
}

}  // namespace castscope::report
