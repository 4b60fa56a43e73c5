#include "server/cli/commands/sarif_report.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "server/judging/judged_run.h"
#include "server/report/compare/since_baseline.h"
#include "server/report/forms/sarif.h"

namespace castscope::cli {
namespace {

absl::StatusOr<report::Account> baseline_of(const std::string& file, const rules::Settings& settings) {
  auto account = report::read_account(file, settings);
  if (!account.ok()) return absl::DataLossError(absl::StrCat("the baseline: ", account.status().message()));
  if (!account->damage.empty()) return absl::DataLossError(absl::StrCat("the baseline: ", file, ": ", account->damage));
  return account;
}

}  // namespace

absl::Status write_sarif(const std::string& run_file, const SarifChoice& choice, const rules::Settings& settings,
                         std::ostream& out) {
  const auto run = judging::read_and_judge(run_file, settings);
  if (!run.ok()) return run.status();
  const report::Model model = report::model_of(**run);
  report::SarifOptions options{.category = choice.category};
  std::optional<report::SinceBaseline> since;
  if (!choice.baseline.empty()) {
    const auto baseline = baseline_of(choice.baseline, settings);
    if (!baseline.ok()) return baseline.status();
    options.baseline = &since.emplace(report::since_baseline(model, *baseline));
  }
  out << report::sarif_text(model, options) << std::flush;
  if (!out) return absl::UnavailableError("the output cannot be written: check the disk for space");
  return report::damage_status(run_file, (*run)->data);
}

}  // namespace castscope::cli
