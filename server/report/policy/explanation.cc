#include "server/report/policy/explanation.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/config/nearest.h"
#include "server/policy/decide.h"
#include "server/policy/functions.h"
#include "server/policy/operators.h"
#include "server/report/policy/reach.h"
#include "server/report/policy/text.h"
#include "server/report/text/lines.h"

namespace castscope::report {
namespace {

using absl::StrCat;
using Json = nlohmann::ordered_json;
using policy::Decision;
using policy::OperatorName;
using policy::Policy;

struct Decided {
  OperatorName shown;  // without an overload where all overloads have the same decision
  OperatorName op;     // the first of those
  Decision decision;
};

std::vector<Decided> decided_on(const Policy& policy, const OperatorName& asked,
                                const std::vector<policy::ModuleUse>& modules) {
  std::vector<std::string> overloads = {asked.overload};
  if (asked.overload.empty()) overloads = policy::Operators::of_pytorch().overloads(asked.name);
  if (overloads.empty()) overloads = {"default"};
  std::vector<Decided> all;
  for (const std::string& overload : overloads) {
    const OperatorName op{asked.name, overload};
    all.push_back({op, op, decide(policy, op, modules)});
  }
  const auto alike = [&](const Decided& one) {
    return one.decision.policy == all[0].decision.policy && one.decision.never_cast == all[0].decision.never_cast;
  };
  if (asked.overload.empty() && std::all_of(all.begin(), all.end(), alike)) {
    all.resize(1);
    all[0].shown.overload.clear();
  }
  return all;
}

// PyTorch's own policy of a device says itself what PyTorch does there.
bool is_pytorchs(const Policy& policy) { return policy.name == StrCat("torch-", policy.device); }

// A library may register autocast kernels of its own for its operators, in code or with torch.library.
bool may_have_own_kernels(const OperatorName& op, const Decision& decision) {
  return !op.name.starts_with("aten::") && !decision.ruled;
}

std::string own_kernels_text(const OperatorName& op, int width) {
  return wrapped("  ", "  ",
                 StrCat("castscope does not know what ", op.name.substr(0, op.name.find("::")),
                        " registered with autocast itself: if this operator has an autocast kernel of that library's, "
                        "that kernel decides. A run tells what it does."),
                 width);
}

Explanation of_operator(const Policy& policy, const OperatorName& asked, const Asked& question, int width) {
  const auto modules = policy::modules_of(question.module, question.class_name);
  const auto functions = functions_of(asked);
  Explanation explanation;
  for (const Decided& one : decided_on(policy, asked, modules)) {
    const std::string parts = one.decision.ruled ? "" : parts_text(policy, one.op, functions, modules);
    const Question about{one.shown, question.module, question.class_name, parts};
    Json json = decision_json(policy, about, one.decision);
    json["functions"] = functions_json(policy, functions, modules);
    explanation.text += decision_text(policy, about, one.decision, width);
    json["own_kernels_unknown"] = may_have_own_kernels(one.op, one.decision);
    if (may_have_own_kernels(one.op, one.decision)) explanation.text += own_kernels_text(one.op, width);
    if (policy.device != "any") {
      if (!is_pytorchs(policy)) {
        json["pytorch_policy"] = device_json(policy.device, one.op);
        explanation.text += device_text(policy.device, one.op, width);
      }
      json["other_devices"] = devices_json(policy.device, one.op);
      explanation.text += devices_text(policy.device, one.op, width);
    }
    explanation.list.push_back(std::move(json));
  }
  explanation.text += functions_text(policy, functions, modules, width);
  return explanation;
}

Explanation of_function(const Policy& policy, const std::vector<const policy::Function*>& functions,
                        const Asked& question, int width) {
  const auto modules = policy::modules_of(question.module, question.class_name);
  Explanation explanation;
  explanation.text = StrCat(question.name, question.module.empty() ? "" : StrCat(" in ", question.module), " by ",
                            policy.name, "\n", functions_text(policy, functions, modules, width));
  explanation.list.push_back({{"policy", policy.name},
                              {"operator", Json()},
                              {"function_name", question.name},
                              {"module", question.module.empty() ? Json() : Json(question.module)},
                              {"module_type", question.class_name.empty() ? Json() : Json(question.class_name)},
                              {"functions", functions_json(policy, functions, modules)}});
  return explanation;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "torch.nrm" may be an overload of an operator `torch`, but rather is a function.
std::string trouble_with_name(const std::string& name, const std::string& as_operator) {
  constexpr std::string_view kTorch = "torch.";  // "nn.LSTM" is torch.nn.LSTM
  if (name.find('.') == std::string::npos) return as_operator;
  std::vector<std::string_view> functions;
  for (const policy::Function& function : policy::Functions::of_pytorch().all()) {
    functions.push_back(function.name);
    if (function.name.starts_with(kTorch)) functions.push_back(std::string_view(function.name).substr(kTorch.size()));
  }
  const auto meant = config::nearest(name, functions);
  if (!meant || !config::nearest(last_part(name), std::array{last_part(*meant)})) return as_operator;
  return StrCat("is neither an operator nor a function; did you mean \"", *meant, "\"?");
}

}  // namespace

absl::StatusOr<Explanation> explained(const Policy& policy, const Asked& question, int width) {
  const OperatorName asked = policy::operator_name(question.name);
  const std::string trouble = policy::Operators::of_pytorch().trouble(asked);
  if (trouble.empty()) return of_operator(policy, asked, question, width);
  const auto functions = policy::Functions::of_pytorch().named(question.name);
  if (!functions.empty()) return of_function(policy, functions, question, width);
  return absl::NotFoundError(StrCat("\"", question.name, "\" ", trouble_with_name(question.name, trouble)));
}

}  // namespace castscope::report
