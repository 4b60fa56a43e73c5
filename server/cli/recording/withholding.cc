#include "server/cli/recording/withholding.h"

#include "absl/strings/str_cat.h"
#include "server/cli/job/job_environment.h"

namespace castscope::cli {

Withholding withheld_by_environment() {
  Withholding withholding;
  if (std::string pattern = variable("CASTSCOPE_REDACT"); !pattern.empty())
    withholding.patterns.push_back(std::move(pattern));
  const std::string no_source = variable("CASTSCOPE_NO_SOURCE");
  withholding.no_source = !no_source.empty() && no_source != "0";
  return withholding;
}

absl::Status complete(Withholding& withholding) {
  const Withholding by_environment = withheld_by_environment();
  withholding.no_source |= by_environment.no_source;
  for (const std::string& pattern : by_environment.patterns) {
    if (auto one = redaction::in_one_pattern({pattern}); !one.ok())
      return absl::InvalidArgumentError(absl::StrCat("CASTSCOPE_REDACT: ", one.status().message()));
    withholding.patterns.push_back(pattern);
  }
  const auto one = redaction::in_one_pattern(withholding.patterns);
  if (!one.ok()) return one.status();
  withholding.patterns.clear();
  if (!one->empty()) withholding.patterns.push_back(*one);
  return absl::OkStatus();
}

std::string pattern_of(const Withholding& withholding) {
  return withholding.patterns.empty() ? "" : withholding.patterns.front();
}

std::shared_ptr<redaction::Redaction> redaction_of(const std::string& pattern, bool no_source) {
  const auto understood = redaction::Redaction::of(pattern);
  auto redaction = understood.ok() ? *understood : redaction::Redaction::of_everything();
  if (no_source) redaction->keep_first_lines();
  return redaction;
}

bool hides_everything(const std::string& pattern) { return !redaction::Redaction::of(pattern).ok(); }

}  // namespace castscope::cli
