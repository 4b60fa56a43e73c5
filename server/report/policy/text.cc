#include "server/report/policy/text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/report/text/document.h"
#include "server/report/text/lines.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

using Json = nlohmann::ordered_json;
using absl::StrCat;
using policy::CastPolicy;

std::string to_string(std::string_view text) { return std::string(text); }

std::string counted(std::size_t count, std::string_view one) {
  return StrCat(count, " ", to_string(one), count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all.append(all.empty() ? "" : ", ").append(word);
  return all;
}

std::map<CastPolicy, std::vector<std::string>> by_cast_policy(const policy::Policy& policy) {
  std::map<CastPolicy, std::vector<std::string>> lists;
  for (const auto& [op, rule] : policy.operators) lists[rule.policy].push_back(shown(op));
  return lists;
}

std::vector<std::string> cache_words(const policy::CacheRules& cache) {
  std::vector<std::string> words;
  const auto flag = [&](const char* what, const std::optional<bool>& value) {
    if (value) words.push_back(StrCat(*value ? "" : "not ", what));
  };
  flag("enabled", cache.enabled);
  flag("frozen", cache.frozen);
  flag("views", cache.views);
  flag("nonleaf", cache.nonleaf);
  if (cache.max_bytes) words.push_back(StrCat("at most ", *cache.max_bytes, " bytes"));
  if (cache.keep)
    words.push_back(StrCat("kept for ", to_string(policy::kKeepNames[static_cast<std::size_t>(*cache.keep)])));
  return words;
}

// Formats a line with its title in a column of its own.
std::string titled(const std::string& title, const std::string& text, int width) {
  constexpr std::size_t kTitle = 22;
  const std::string pad(title.size() < kTitle ? kTitle - title.size() : 1, ' ');
  return wrapped(StrCat("  ", title, pad), std::string(kTitle + 2, ' '), text, width);
}

// A message for a banned operator may have several lines.
std::string as_paragraph(const std::string& text) { return absl::StrReplaceAll(text, {{"\n", " "}}); }

Json default_dtype(const policy::Policy& policy) {
  return policy.default_dtype ? Json(name(*policy.default_dtype)) : Json();
}

// The dtype of a region that names none, in words.
std::string default_words(const policy::Policy& policy) {
  if (policy.default_dtype) return StrCat(", ", to_string(name(*policy.default_dtype)), " where it names none");
  if (policy.device == "any") return "";
  return StrCat(", ", to_string(name(policy::default_of(policy.device))), " where it names none, as in PyTorch");
}

std::string reason_line(std::string_view word, const policy::Reason& reason, int width) {
  return titled(to_string(word), reason.place.empty() ? reason.rule : StrCat(reason.rule, " (", reason.place, ")"),
                width);
}

}  // namespace

std::string policy_text(const policy::Policy& policy, int width) {
  std::string all = StrCat(policy.name, ": understood\n");
  if (!policy.description.empty()) all += wrapped("  ", "  ", on_one_line(policy.description), width);
  all += titled("device", policy.device, width);
  if (policy.dtype) all += titled("dtype", to_string(name(*policy.dtype)), width);
  if (policy.default_dtype)
    all +=
        titled("default dtype", StrCat(to_string(name(*policy.default_dtype)), ", of regions that name none"), width);
  all += titled("read from", joined(policy.files), width);
  for (const auto& [kind, operators] : by_cast_policy(policy))
    all += titled(to_string(name(kind)), counted(operators.size(), "operator"), width);
  for (const auto& [op, rule] : policy.never_cast)
    all += titled("never cast", StrCat(joined(rule.arguments), " of ", shown(op)), width);
  for (const policy::ModuleRule& rule : policy.modules)
    all += titled("modules", StrCat(rule.pattern, " → ", shown(rule.precision)), width);
  for (const policy::FunctionRule& rule : policy.functions)
    all += titled("functions", StrCat(rule.function, " → ", to_string(name(rule.cast))), width);
  if (const auto cache = cache_words(policy.cache); !cache.empty()) all += titled("cache", joined(cache), width);
  return all;
}

Json policy_json(const policy::Policy& policy) {
  Json operators = Json::object(), modules = Json::array(), functions = Json::object(), never = Json::object();
  for (const auto& [kind, list] : by_cast_policy(policy)) operators[to_string(name(kind))] = list;
  for (const auto& [op, rule] : policy.never_cast) never[shown(op)] = rule.arguments;
  for (const policy::ModuleRule& rule : policy.modules)
    modules.push_back({{"pattern", rule.pattern},
                       {"target_precision", shown(rule.precision)},
                       {"written_at", rule.place.empty() ? Json() : Json(rule.place)}});
  for (const policy::FunctionRule& rule : policy.functions) functions[rule.function] = name(rule.cast);
  return {{"policy", policy.name},
          {"description", policy.description},
          {"device", policy.device},
          {"lower_precision", policy.dtype ? Json(name(*policy.dtype)) : Json()},
          {"default_dtype", default_dtype(policy)},
          {"policy_files", policy.files},
          {"operators_by_cast_policy", operators},
          {"never_cast_by_operator", never},
          {"module_rules", modules},
          {"function_rules", functions}};
}

std::string decision_text(const policy::Policy& policy, const Question& question, const policy::Decision& decision,
                          int width) {
  std::string where = question.module.empty() ? "" : StrCat(" in ", question.module);
  if (!question.class_name.empty()) where += StrCat(" (", question.class_name, ")");
  std::string what = to_string(meaning(decision.policy));
  if (decision.policy == CastPolicy::kLowerPrecision)
    what += decision.dtype == policy::Dtype::kAmbient ? StrCat(" that the autocast region says", default_words(policy))
                                                      : StrCat(": ", to_string(name(decision.dtype)));
  if (!decision.message.empty() && decision.policy == CastPolicy::kBanned) what += StrCat(": ", decision.message);
  if (!question.parts.empty()) what += StrCat("; but it is made of others, which are not left alone: ", question.parts);
  std::string all = StrCat(shown(question.op), where, " by ", policy.name, "\n");
  all += titled(to_string(name(decision.policy)), what, width);
  for (const policy::Reason& one : decision.exceptions) all += reason_line("but", one, width);
  for (std::size_t i = 0; i < decision.because.size(); ++i)
    all += reason_line(i == 0 ? "because" : "which stands above", decision.because[i], width);
  return all;
}

Json decision_json(const policy::Policy& policy, const Question& question, const policy::Decision& decision) {
  const auto reasons = [](const std::vector<policy::Reason>& list) {
    Json all = Json::array();
    for (const policy::Reason& one : list)
      all.push_back({{"policy_rule", one.rule}, {"written_at", one.place.empty() ? Json() : Json(one.place)}});
    return all;
  };
  return {{"policy", policy.name},
          {"operator", full_name(question.op)},
          {"module", question.module.empty() ? Json() : Json(question.module)},
          {"module_type", question.class_name.empty() ? Json() : Json(question.class_name)},
          {"cast_policy", name(decision.policy)},
          {"decided_dtype", name(decision.dtype)},
          {"default_dtype", default_dtype(policy)},
          {"message",
           decision.policy == CastPolicy::kBanned && !decision.message.empty() ? Json(decision.message) : Json()},
          {"never_cast_arguments", decision.never_cast},
          {"ruled_by", reasons(decision.because)},
          {"exceptions", reasons(decision.exceptions)}};
}

std::string policy_difference_text(const policy::Policy& before, const policy::Policy& after,
                                   const policy::PolicyDifference& difference, int width) {
  std::string all = StrCat("castscope policy diff: ", before.name, " → ", after.name, "\n");
  for (const policy::SettingChange& change : difference.settings)
    all += wrapped("  ", "      ", as_paragraph(StrCat(change.what, ": ", change.before, " → ", change.after)), width);
  std::map<std::pair<CastPolicy, CastPolicy>, std::vector<std::string>> ways;
  for (const policy::OperatorChange& change : difference.operators)
    ways[{change.before, change.after}].push_back(shown(change.op));
  for (const auto& [way, operators] : ways) {
    all +=
        StrCat("\n  ", to_string(name(way.first)), " → ", to_string(name(way.second)), " (", operators.size(), ")\n");
    all += wrapped("    ", "    ", joined(operators), width);
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> from_python;
  for (const policy::FunctionChange& change : difference.functions)
    from_python[{change.before, change.after}].push_back(change.function);
  for (const auto& [way, functions] : from_python) {
    all += "\n" + wrapped("  ", "  ",
                          StrCat("from Python: ", way.first, " → ", way.second, " (", functions.size(), ")"), width);
    all += wrapped("    ", "    ", joined(functions), width);
  }
  if (!difference.any()) all += "  they decide alike\n";
  return all;
}

Json policy_difference_json(const policy::Policy& before, const policy::Policy& after,
                            const policy::PolicyDifference& difference) {
  Json operators = Json::array(), settings = Json::array(), functions = Json::array();
  for (const policy::OperatorChange& change : difference.operators)
    operators.push_back(
        {{"operator", full_name(change.op)}, {"before", name(change.before)}, {"after", name(change.after)}});
  for (const policy::SettingChange& change : difference.settings)
    settings.push_back({{"setting", change.what}, {"before", change.before}, {"after", change.after}});
  for (const policy::FunctionChange& change : difference.functions)
    functions.push_back({{"function_name", change.function}, {"before", change.before}, {"after", change.after}});
  return document(kPolicyDiffForm, {{"before", before.name},
                                    {"after", after.name},
                                    {"differs", difference.any()},
                                    {"operator_changes", operators},
                                    {"function_changes", functions},
                                    {"setting_changes", settings}});
}

}  // namespace castscope::report
