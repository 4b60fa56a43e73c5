#include "server/judging/judged_run.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/log/log.h"
#include "server/rules/rules.h"
#include "server/store/read/run_reader.h"

namespace castscope::judging {

JudgedRunPtr judged(store::RunData data, const rules::Settings& settings, Lines lines, const ShownLine& shown) {
  const auto begin = std::chrono::steady_clock::now();
  auto run = std::make_shared<JudgedRun>();
  run->data = std::move(data);
  std::vector<rules::Finding> found = rules::judge(run->data, settings);
  if (lines == Lines::kFromDisk) run->data.source = read_source(run->data, found, {}, shown);
  run->judgement = rules::weigh(std::move(found), run->data, settings);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  log::debug_took(
      "judged the run", took.count(),
      absl::StrCat("findings: ", run->judgement.findings.size(), ", silenced: ", run->judgement.silenced.size()));
  return run;
}

absl::StatusOr<JudgedRunPtr> read_and_judge(const std::string& run_file, const rules::Settings& settings) {
  absl::StatusOr<store::RunData> data = store::read_as_it_is(run_file);
  if (!data.ok()) return data.status();
  return judged(*std::move(data), settings);
}

}  // namespace castscope::judging
