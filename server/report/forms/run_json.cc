#include "server/report/forms/run_json.h"

#include <nlohmann/json.hpp>

#include "server/report/forms/coverage_json.h"
#include "server/report/model/json_values.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/store/run/ranks.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;

// Returns what Git said of the checkout when the run started.
Json checkout_state(const store::GitState& git) {
  if (git.commit.empty() && git.branch.empty() && git.origin.empty()) return nullptr;
  return {{"git_commit", text_or_null(git.commit)},
          {"git_branch", text_or_null(git.branch)},
          {"git_dirty", git.dirty ? Json(*git.dirty) : Json()},
          {"git_origin", text_or_null(git.origin)}};
}

void add_versions(const Model& model, Json& run) {
  const auto first = model.process_order.empty() ? store::ProcessId() : model.process_order.front();
  const auto told = [&](std::string_view attribute) {
    return text_or_null(first == 0 ? "" : model.run.processes[first].attribute(attribute));
  };
  run["castscope_version"] = model.run.start.castscope_version;
  run["torch_version"] = told("torch_version");
  run["python_version"] = told("python_version");
}

}  // namespace

Json run_json(const Model& model) {
  const store::RunData& data = model.run;
  Json run = {{"run_id", data.start.run_id},
              {"command", data.start.command},
              {"cwd", data.start.cwd},
              {"checkout", text_or_null(data.start.checkout)},
              {"checkout_state", checkout_state(data.start.git)},
              {"host", data.start.host},
              {"start", utc(data.start.start_ns)},
              {"end", data.end ? Json(utc(data.end->end_ns)) : Json()},
              {"end_ns", data.end ? Json(data.end->end_ns - data.start.start_ns) : Json()},
              {"exit_status", model.exit ? Json(*model.exit) : Json()},
              {"signal", data.end && data.end->signal ? Json(*data.end->signal) : Json()},
              {"complete", model.complete()},
              {"missing", missing_json(data, model.missing)},
              {"observed", model.observed}};
  const store::RankCount ranks = store::ranks_of(data);
  run["expected_ranks"] = ranks.expected > 0 ? Json(ranks.expected) : Json();
  run["seen_ranks"] = ranks.expected > 0 ? Json(ranks.seen) : Json();
  add_versions(model, run);
  run["enforced_policy"] = text_or_null(rules::enforced_policy(data));
  run["enforced_policy_hash"] = text_or_null(rules::enforced_policy_hash(data));
  run["enforcing_would_save"] = savings_json(model.enforcing);
  run["recording"] = recording_json(data);
  run["notices"] = model.notices;
  run["damage"] = data.damage ? Json(data.damage->sentence) : Json();
  run["weakly_checked"] = data.weakly_checked;
  return run;
}

}  // namespace castscope::report
