// Made-up runs and findings, for tests of what reports make of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/report/model/model.h"

namespace castscope::report {

inline store::RunData run_in(const std::string& folder) {
  store::RunData run;
  run.start.command = {"python", "train.py"};
  run.start.cwd = folder;
  store::Process process;
  process.id = store::ProcessId(1);
  process.ended = true;
  process.end = store::ProcessEnd::kExited;
  run.processes.push_back(process);
  run.end = store::RunEnd{.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true};
  return run;
}

// One cast by autocast of one site.
inline void add_cast(store::RunData& run) {
  store::Site site;
  site.id = store::SiteId(static_cast<std::uint32_t>(run.sites.size() + 1));
  site.cause = lanes::Cause::kAutocast;
  run.sites.push_back(site);
  store::SiteUse use;
  use.process = store::ProcessId(1), use.site = site.id, use.counts.casts = 1, use.counts.cpu_ns = 1000;
  run.site_uses.push_back(use);
}

inline rules::Finding finding(const std::string& severity, const std::string& file, std::int64_t line) {
  rules::Finding finding;
  finding.rule = "cache-grows";
  finding.severity = severity;
  finding.title = "it grows";
  finding.fix = "Let it not.";
  if (!file.empty()) finding.location = store::CodeLocation{file, "train", line};
  return finding;
}

inline Model model(const store::RunData& run, std::vector<rules::Finding> findings) {
  rules::Judgement judgement;
  judgement.findings = std::move(findings);
  return model_of(run, std::move(judgement));
}

}  // namespace castscope::report
