#include "server/report/compare/since_baseline.h"

#include <vector>

#include "server/report/compare/comparable.h"

namespace castscope::report {

SinceBaseline since_baseline(const Model& model, const Account& baseline) {
  Account account = account_of(model, "");
  const std::size_t told = account.findings.size();
  account.findings.insert(account.findings.end(), model.silenced.begin(), model.silenced.end());
  account.fingerprints.insert(account.fingerprints.end(), model.silenced_fingerprints.begin(),
                              model.silenced_fingerprints.end());
  const Comparable two = comparable(baseline, account);
  const std::vector<InOther> before = in_other(two.after, two.before), now = in_other(two.before, two.after);
  SinceBaseline since;
  since.project = baseline.project;
  for (std::size_t i = 0; i < before.size(); ++i)
    (i < told ? since.findings : since.silenced)
        .push_back({.known = before[i] == InOther::kThere, .looked_at = before[i] != InOther::kMaybeMissed});
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] != InOther::kThere)
      since.gone.push_back({baseline.findings[i], baseline.fingerprints[i], now[i] == InOther::kNotThere});
  return since;
}

}  // namespace castscope::report
