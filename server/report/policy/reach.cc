#include "server/report/policy/reach.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/policy/elsewhere.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using absl::StrCat;
using policy::CastPolicy;
using policy::Computed;
using policy::Function;
using policy::Policy;
using policy::Way;
using policy::WayDecision;

constexpr std::size_t kMostNames = 12;
constexpr const char* kIndent = "                        ";

std::string paragraph(const std::string& title, const std::string& text, int width) {
  const std::size_t pad = std::string_view(kIndent).size() - 2;
  return wrapped(StrCat("  ", title, std::string(title.size() < pad ? pad - title.size() : 1, ' ')), kIndent, text,
                 width);
}

std::string name_of(const policy::Step& step) {
  const policy::OperatorName op{step.op.name, step.op.overload == "default" ? "" : step.op.overload};
  return shown(op);
}

// Names the operators up to the one that decides; all of them if none decides.
std::string text_of(const WayDecision& decided) {
  std::string text;
  for (const policy::Step& step : *decided.way) {
    text.append(text.empty() ? "" : ">").append(name_of(step));
    if (&step == decided.by) break;
  }
  return text;
}

// Whether the operator that decides is given a dtype.
bool gives_dtype(const WayDecision& decided) { return decided.by != nullptr && decided.by->given_dtype; }

void add(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

// "ends in linalg_vector_norm (fp32); not reached: div.out, which writes into an argument"
std::string fate_text(const Policy& policy, const Function& function, const std::vector<policy::ModuleUse>& modules) {
  if (const policy::FunctionRule* rule = rule_of(policy, function))
    return StrCat("as a whole: functions ", std::string(name(rule->cast)),
                  rule->place.empty() ? "" : StrCat(" (", rule->place, ")"));
  std::vector<std::string> reached, writing, messages;
  for (const WayDecision& decided : decide(policy, function, modules)) {
    if (!decided.reached())
      add(writing, name_of(decided.way->front()));
    else
      add(reached, StrCat(text_of(decided), " (", std::string(name(decided.decision.policy)),
                          gives_dtype(decided) ? ", given a dtype by the function itself)" : ")"));
    if (decided.reached() && decided.decision.policy == CastPolicy::kBanned)
      add(messages, on_one_line(absl::StrJoin(
                        absl::StrSplit(decided.decision.message, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ")));
  }
  std::string text = reached.empty() ? "" : StrCat("ends in ", absl::StrJoin(reached, ", "));
  if (!writing.empty())
    absl::StrAppend(&text, text.empty() ? "" : "; ", "not reached: ", absl::StrJoin(writing, ", "),
                    writing.size() == 1 ? ", which writes into an argument" : ", which write into an argument");
  for (const std::string& message : messages)
    absl::StrAppend(&text, "; it raises", message.empty() ? "" : ": ", message);
  return text;
}

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return absl::StrJoin(names, ", ");
  return StrCat(absl::StrJoin(names.begin(), names.begin() + kMostNames, ", "), " and ", names.size() - kMostNames,
                " more");
}

Json way_json(const WayDecision& decided) {
  Json operators = Json::array();
  for (const policy::Step& step : *decided.way) operators.push_back(shown(step.op));
  return {{"operator_chain", operators},
          {"decided_by", decided.by == nullptr ? Json() : Json(shown(decided.by->op))},
          {"cast_policy", name(decided.decision.policy)},
          {"reached", decided.reached()},
          {"gives_dtype", gives_dtype(decided)}};
}

std::string_view word(Computed computed) {
  return computed == Computed::kLow ? "lower precision" : computed == Computed::kFloat32 ? "float32" : "an error";
}

// A recurrent layer: devices other than the CPU have an operator for it, or for its cells.
struct Recurrent {
  std::string_view op, cell;
};
constexpr Recurrent kRecurrent[] = {
    {"lstm", "_thnn_fused_lstm_cell"}, {"gru", "_thnn_fused_gru_cell"}, {"rnn_tanh", ""}, {"rnn_relu", ""}};

std::string decided_text(const Policy& policy, std::string_view op, const std::vector<policy::ModuleUse>& modules) {
  const auto decision = decide(policy, policy::OperatorName{StrCat("aten::", std::string(op)), "default"}, modules);
  return StrCat(std::string(op), " (", std::string(name(decision.policy)), ")");
}

// functions.txt describes a CPU. `kind` is the layer that this function calls and that the policy does not mention.
std::string elsewhere_of(const Policy& policy, const Recurrent& kind, const std::vector<policy::ModuleUse>& modules) {
  std::string cells = decided_text(policy, "linear", modules);
  if (!kind.cell.empty()) absl::StrAppend(&cells, " and ", decided_text(policy, kind.cell, modules));
  if (policy.device == "xpu") return StrCat("on XPU: by ", cells);
  if (policy.device == "mps")
    return StrCat("on MPS: by ", decided_text(policy, kind.op == "lstm" ? "_lstm_mps" : "linear", modules));
  const policy::OperatorName cudnn{"aten::_cudnn_rnn", "default"};
  const std::string by_cudnn = decide(policy, cudnn, modules).ruled
                                   ? decided_text(policy, "_cudnn_rnn", modules)
                                   : "_cudnn_rnn, whose own kernel of autocast casts input, state and weights to "
                                     "float16 whatever the region says: no rule names it";
  return StrCat("on CUDA: where cuDNN computes it, by ", by_cudnn, "; else by ", cells);
}

// Returns "" where there is nothing to add.
std::string on_other_devices(const Policy& policy, const Function& function,
                             const std::vector<policy::ModuleUse>& modules) {
  if (policy.device == "cpu" || rule_of(policy, function) != nullptr) return "";
  for (const Recurrent& kind : kRecurrent) {
    for (const Way& way : function.ways) {
      const policy::OperatorName& op = way.front().op;
      if (op.name != StrCat("aten::", std::string(kind.op))) continue;
      return decide(policy, op, modules).ruled ? "" : elsewhere_of(policy, kind, modules);
    }
  }
  return "";
}

constexpr std::string_view kDevices[] = {"cpu", "cuda", "xpu", "mps"};

}  // namespace

std::string functions_text(const Policy& policy, const std::vector<const Function*>& functions,
                           const std::vector<policy::ModuleUse>& modules, int width) {
  std::vector<std::pair<std::string, std::vector<std::string>>> alike;
  for (const Function* function : functions) {
    std::string text = fate_text(policy, *function, modules);
    if (const std::string more = on_other_devices(policy, *function, modules); !more.empty())
      absl::StrAppend(&text, text.empty() ? "" : "; ", more);
    auto found = std::find_if(alike.begin(), alike.end(), [&](const auto& one) { return one.first == text; });
    if (found == alike.end()) found = alike.insert(alike.end(), {std::move(text), {}});
    found->second.push_back(function->name);
  }
  std::string all;
  for (const auto& [text, names] : alike)
    all += paragraph(all.empty() ? "from Python" : "", StrCat(some_of(names), ": ", text), width);
  return all;
}

Json functions_json(const Policy& policy, const std::vector<const Function*>& functions,
                    const std::vector<policy::ModuleUse>& modules) {
  Json all = Json::array();
  for (const Function* function : functions) {
    const policy::FunctionRule* const rule = rule_of(policy, *function);
    Json ways = Json::array();
    for (const WayDecision& decided : decide(policy, *function, modules)) ways.push_back(way_json(decided));
    const std::string more = on_other_devices(policy, *function, modules);
    all.push_back({{"function_name", function->name},
                   {"as_a_whole", rule == nullptr ? Json() : Json(name(rule->cast))},
                   {"ends_in", ways},
                   {"on_other_devices", more.empty() ? Json() : Json(more)}});
  }
  return all;
}

std::vector<const Function*> functions_of(const policy::OperatorName& op) {
  const policy::Functions& all = policy::Functions::of_pytorch();
  std::vector<const Function*> functions;
  if (op.name.starts_with("aten::")) functions = all.named(op.name.substr(std::string_view("aten::").size()));
  return functions.empty() ? all.through(op) : functions;
}

std::string parts_text(const Policy& policy, const policy::OperatorName& op,
                       const std::vector<const Function*>& functions, const std::vector<policy::ModuleUse>& modules) {
  std::vector<std::string> parts;
  for (const Function* function : functions)
    for (const WayDecision& decided : decide(policy, *function, modules)) {
      const policy::Step* const first = &decided.way->front();
      if (first->op.name != op.name || decided.by == nullptr || decided.by == first) continue;
      if (decided.decision.policy != CastPolicy::kPassthrough)
        add(parts, StrCat(name_of(*decided.by), " (", std::string(name(decided.decision.policy)), ")"));
    }
  return absl::StrJoin(parts, ", ");
}

std::string device_text(std::string_view device, const policy::OperatorName& op, int width) {
  const CastPolicy kind = on_device(device, op).policy;
  return paragraph("PyTorch itself",
                   StrCat(std::string(device), ": ", std::string(name(kind)), ", ", std::string(meaning(kind))), width);
}

std::string devices_text(std::string_view device, const policy::OperatorName& op, int width) {
  std::map<CastPolicy, std::vector<std::string>> others;
  for (const std::string_view other : kDevices)
    if (other != device) others[on_device(other, op).policy].emplace_back(other);
  std::string all;
  for (const auto& [kind, devices] : others)
    all += paragraph(
        all.empty() ? "PyTorch elsewhere" : "",
        StrCat(absl::StrJoin(devices, ", "), ": ", std::string(name(kind)), ", ", std::string(meaning(kind))), width);
  std::map<Computed, std::vector<std::string>> differing;
  for (const policy::Elsewhere& there : elsewhere(device, op, policy::Given::kLow))
    differing[there.computes].emplace_back(there.device);
  for (const auto& [computed, devices] : differing)
    all += paragraph(
        "",
        StrCat("Given lower precision, it gives ", std::string(word(computed)), " on ", absl::StrJoin(devices, ", "),
               " and ", std::string(word(computes_on(device, op, policy::Given::kLow))), " on ", std::string(device),
               " under PyTorch's own autocast: a run on ", std::string(device), " says nothing of its dtype there."),
        width);
  return all;
}

Json device_json(std::string_view device, const policy::OperatorName& op) {
  const auto given = [&](policy::Given what) {
    const Computed computed = computes_on(device, op, what);
    return computed == Computed::kLow ? "lower_precision" : computed == Computed::kFloat32 ? "float32" : "error";
  };
  return {{"device", device},
          {"cast_policy", name(on_device(device, op).policy)},
          {"given_lower_precision", given(policy::Given::kLow)},
          {"given_float32", given(policy::Given::kFloat32)}};
}

Json devices_json(std::string_view device, const policy::OperatorName& op) {
  Json all = Json::array();
  for (const std::string_view other : kDevices)
    if (other != device) all.push_back(device_json(other, op));
  return all;
}

}  // namespace castscope::report
