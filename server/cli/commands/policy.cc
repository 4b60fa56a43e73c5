// castscope policy: says which operator runs in which precision, and why.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/cli/commands/exit_statuses.h"
#include "server/cli/commands/fail.h"
#include "server/cli/commands/input_file.h"
#include "server/cli/commands/output_file.h"
#include "server/cli/commands/summary.h"
#include "server/policy/load.h"
#include "server/policy/shipped.h"
#include "server/report/model/model.h"
#include "server/report/policy/explanation.h"
#include "server/report/policy/from_run.h"
#include "server/report/policy/text.h"
#include "server/report/text/document.h"
#include "server/report/text/words.h"
#include "server/store/read/run_reader.h"

namespace castscope::cli {
namespace {

struct PolicyOptions {
  std::vector<std::string> policies;
  std::string before, after, op, module, class_name, format = "text";
  std::string run_file, device, output;
  bool exit_code = false, force = false;
};

// A file that cannot be read is not a mistake in a policy.
int status_of(const absl::Status& problem) {
  return absl::IsNotFound(problem) || absl::IsPermissionDenied(problem) ? kIncompleteData : kUsage;
}

bool put_json(const report::DocumentForm& form, const char* list_name, nlohmann::ordered_json list) {
  return put(report::document(form, {{list_name, std::move(list)}}).dump(1) + "\n");
}

// Checks all of them, even if the first is wrong; returns the worst status. `policies/*.json` may name a schema, too.
int check(const PolicyOptions& options) {
  int status = 0;
  bool any = false;
  auto list = nlohmann::ordered_json::array();
  for (const std::string& name : options.policies) {
    if (policy::is_json_schema(name)) {
      say(absl::StrCat(report::on_one_line(name), ": this is a JSON Schema, not a policy: it is passed over"));
      continue;
    }
    any = true;
    const auto policy = policy::load(name);
    if (!policy.ok()) {
      status = std::max(status, fail(policy.status(), status_of(policy.status())));
    } else if (options.format == "json") {
      list.push_back(report::policy_json(*policy));
    } else if (!put(report::policy_text(*policy, terminal_width(STDOUT_FILENO)))) {
      return kUsage;
    }
  }
  if (options.format == "json" && !put_json(report::kPolicyCheckForm, "policies", std::move(list))) return kUsage;
  return any ? status : fail("there is no policy among these files", kUsage);
}

int diff(const PolicyOptions& options) {
  const auto before = policy::load(options.before), after = policy::load(options.after);
  if (!before.ok()) return fail(before.status(), status_of(before.status()));
  if (!after.ok()) return fail(after.status(), status_of(after.status()));
  const policy::PolicyDifference difference = policy::difference_of(*before, *after);
  const bool written =
      options.format == "json"
          ? put(report::policy_difference_json(*before, *after, difference).dump(1) + "\n")
          : put(report::policy_difference_text(*before, *after, difference, terminal_width(STDOUT_FILENO)));
  if (!written) return kUsage;
  return options.exit_code && difference.any() ? kFound : 0;
}

bool is_policy(const std::string& name) { return name.ends_with(".json") || policy::shipped_policy(name); }

// Without a policy on the command line, these are PyTorch's own policies of each device.
std::vector<std::string> asked_of(const PolicyOptions& options) {
  if (!options.op.empty()) return {options.before};
  return {"torch-cpu", "torch-cuda", "torch-xpu", "torch-mps"};
}

int explain(const PolicyOptions& options) {
  const std::string& name = options.op.empty() ? options.before : options.op;
  if (options.op.empty() && (name.empty() || is_policy(name)))
    return fail("OPERATOR is missing: `castscope policy explain --help` tells more", kUsage);
  auto list = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string& asked : asked_of(options)) {
    const auto policy = policy::load(asked);
    if (!policy.ok()) return fail(policy.status(), status_of(policy.status()));
    auto explanation =
        report::explained(*policy, {name, options.module, options.class_name}, terminal_width(STDOUT_FILENO));
    if (!explanation.ok()) return fail(explanation.status(), kUsage);
    for (auto& one : explanation->list) list.push_back(std::move(one));
    text += explanation->text;
  }
  return (options.format == "json" ? put_json(report::kPolicyExplainForm, "explanations", std::move(list)) : put(text))
             ? 0
             : kUsage;
}

int from_run(const PolicyOptions& options) {
  if (absl::Status refused = refuse_output(options.output, {options.run_file}, options.force); !refused.ok())
    return fail(refused, kUsage);
  return into_output(options.output, [&](std::ostream& out) -> absl::Status {
    const auto run = store::read_as_it_is(options.run_file);
    if (!run.ok()) return about_run_file(options.run_file, run.status());
    const auto policy =
        report::policy_followed(*run, options.device, std::filesystem::path(options.run_file).filename().string());
    if (!policy.ok()) return policy.status();
    out << *policy;
    return report::damage_status(options.run_file, *run);
  });
}

int list_shipped(const PolicyOptions& options) {
  auto list = nlohmann::ordered_json::array();
  std::string text;
  for (const std::string_view shipped : policy::shipped_names()) {
    const std::string name(shipped);
    const auto policy = policy::load(name);
    if (!policy.ok()) return fail(policy.status(), status_of(policy.status()));
    list.push_back({{"policy", name}, {"description", policy->description}, {"device", policy->device}});
    absl::StrAppend(&text, name, std::string(name.size() < 18 ? 18 - name.size() : 1, ' '),
                    report::on_one_line(policy->description), "\n");
  }
  return (options.format == "json" ? put_json(report::kPolicyListForm, "policies", std::move(list)) : put(text))
             ? 0
             : kUsage;
}

void add_format(const Command& command, PolicyOptions& options) {
  command.option("-f,--format", options.format, "text or json").one_of({"text", "json"}).shows_default();
}

constexpr const char* kNames =
    "\n\nPOLICY is the name of a shipped policy (`castscope policy list`) or of a file that ends with .json.";

}  // namespace

void add_policy(CommandLine& line) {
  const Command group =
      line.subcommand("policy", "Tell what policy files decide: check, explain, diff, from-run, list");
  auto options = std::make_shared<PolicyOptions>();
  const auto runs = [options](const Command& command, int (*run)(const PolicyOptions&)) {
    add_format(command, *options);
    command.on_run([options, run] { return run(*options); });
  };

  group.footer(absl::StrCat(
      "Examples:\n  castscope policy list\n  castscope policy explain torch.norm\n  castscope policy check mine.json",
      kNames));

  const Command checking = group.subcommand("check", "Read policies, and say what is wrong with them and where");
  checking.option("POLICY", options->policies, "Policies").required().given();
  checking.footer(
      absl::StrCat("Examples:\n  castscope policy check mine.json\n  castscope policy check main.json branch.json",
                   kNames, "\n\n", exit_statuses_of("policy check")));
  runs(checking, check);

  const Command explaining = group.subcommand("explain", "Tell what a policy decides for an operator, and why");
  explaining.usage("[POLICY] OPERATOR");
  explaining.option("POLICY", options->before, "The policy; if it is left out, PyTorch's own policy of each device");
  explaining.option(
      "OPERATOR", options->op,
      "linear, sum.dim_IntList, torchvision::roi_align; or a function or class: torch.norm, F.normalize, nn.LSTM");
  explaining.option("--module PATH", options->module, "Decide as for a module at this path, such as head.fc").given();
  explaining
      .option("--class CLASS", options->class_name, "Decide as for a module of this class, such as torch.nn.LayerNorm")
      .given();
  explaining.footer(absl::StrCat(
      "Examples:\n  castscope policy explain softmax\n  castscope policy explain torch-cuda norm\n"
      "  castscope policy explain mine.json linear --module head.fc",
      kNames,
      "\nThe order of precedence: function > argument (never_cast) > module > operator > none.\n"
      "For a function's name, the command tells which operators the functions of that name end in (in the PyTorch "
      "that\n"
      "the shipped policies were made from), and which of these the policy does not reach, because they write into an\n"
      "argument (in place, out=). For an operator it also tells what PyTorch's own autocast does with it on other\n"
      "devices.\n\n",
      exit_statuses_of("policy explain")));
  runs(explaining, explain);

  const Command differing =
      group.subcommand("diff", "Tell how two policies differ, operator by operator and function by function");
  differing.option("A", options->before, "The policy before").required().given();
  differing.option("B", options->after, "The policy after").required().given();
  differing.flag("--exit-code", options->exit_code, "Exit with 1 when they differ");
  differing.footer(
      absl::StrCat("Examples:\n  castscope policy diff torch-cpu torch-cuda\n"
                   "  castscope policy diff --exit-code main.json branch.json",
                   kNames, "\n\n", exit_statuses_of("policy diff")));
  runs(differing, diff);

  const Command following = group.subcommand("from-run", "Write the policy that a recorded run followed");
  following.option("RUN", options->run_file, "NAME.castscope").required().given();
  following
      .option("--device DEVICE", options->device,
              "cpu, cuda, xpu or mps; needed if the run used autocast on several devices")
      .given();
  following.option("-o,--output FILE", options->output, "Write to this file instead of standard output").given();
  following.flag("--force", options->force, "Overwrite a file that exists");
  following.footer(absl::StrCat(
      "Examples:\n  castscope policy from-run train.castscope -o seen.json\n"
      "  castscope policy diff torch-cuda seen.json\n\n"
      "It extends PyTorch's own policy of the device, and states every operator whose arguments went through\n"
      "autocast's casting.\n\n",
      exit_statuses_of("policy from-run")));
  following.on_run([options] { return from_run(*options); });

  const Command listing = group.subcommand("list", "Tell which policies are shipped");
  listing.footer(absl::StrCat("Examples:\n  castscope policy list\n  castscope policy list -f json\n\n",
                              exit_statuses_of("policy list")));
  runs(listing, list_shipped);
}

}  // namespace castscope::cli
