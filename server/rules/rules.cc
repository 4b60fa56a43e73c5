#include "server/rules/rules.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "server/rules/list.h"

namespace castscope::rules {
namespace {

// One line a rule.
constexpr std::array kRules = {
    Rule{"cache-grows", "warning", "new entries keep going into the autocast cache of one long region", &cache_grows},
    Rule{"cache-never-cleared", "warning", "autocast is switched on so that nothing clears its cache",
         &cache_never_cleared},
    Rule{"weight-cast-repeatedly", "performance", "a weight is cast again at each use because its copy is not kept",
         &weight_cast_repeatedly},
};

int rank(std::string_view severity) {
  constexpr std::array<std::string_view, 4> kOrder = {"error", "warning", "performance", "info"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), severity) - kOrder.begin());
}

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

std::vector<Finding> judge(const store::RunData& data) {
  std::vector<Finding> findings;
  for (const Rule& rule : kRules) {
    for (Finding& finding : rule.judge(rule, data)) findings.push_back(std::move(finding));
  }
  const auto order = [](const Finding& f) {
    const store::CodeLocation at = f.location.value_or(store::CodeLocation());
    return std::make_tuple(rank(f.severity), std::string_view(f.rule), at.file, at.line, std::string_view(f.title));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
  return findings;
}

absl::Status record_findings(store::RunStore& store) {
  const absl::StatusOr<store::RunData> data = store.read();
  if (!data.ok()) return data.status();
  return store.set_findings(judge(*data));
}

}  // namespace castscope::rules
