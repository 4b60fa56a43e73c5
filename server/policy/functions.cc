#include "server/policy/functions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_split.h"
#include "server/policy/shipped.h"

namespace castscope::policy {
namespace {

constexpr std::string_view kOut = "(out=)", kDtype = "=dtype";
// Code writes the left form for the right one; the first that fits applies.
constexpr std::pair<std::string_view, std::string_view> kPlaces[] = {
    {"F.", "torch.nn.functional."}, {"nn.functional.", "torch.nn.functional."}, {"nn.", "torch.nn."}};
constexpr std::string_view kModules = "torch.nn.modules.";  // "torch.nn.modules.rnn.LSTM" is torch.nn.LSTM

Step step_of(std::string_view word) {
  Step step;
  step.writes = word.starts_with('!');
  if (step.writes) word.remove_prefix(1);
  step.given_dtype = word.ends_with(kDtype);
  if (step.given_dtype) word.remove_suffix(kDtype.size());
  step.op = operator_name(word);
  return step;
}

Way way_of(std::string_view text) {
  Way way;
  for (const absl::string_view word : absl::StrSplit(absl::string_view(text.data(), text.size()), '>'))
    way.push_back(step_of(std::string_view(word.data(), word.size())));
  return way;
}

bool sets_dtype(CastPolicy policy) {
  return policy == CastPolicy::kFp32SetOptDtype || policy == CastPolicy::kFp32AppendDtype;
}

// "torch.norm(out=)" and "Tensor.norm_" also go by the name norm; "Tensor.__add__" stays as it is.
std::string plain(std::string_view name) {
  if (name.ends_with(kOut)) name.remove_suffix(kOut.size());
  if (name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  return std::string(name);
}

std::string last_name(std::string_view name) {
  const std::string whole = plain(name);
  const std::size_t dot = whole.rfind('.');
  return dot == whole.npos ? whole : whole.substr(dot + 1);
}

std::string at_its_place(std::string whole) {
  for (const auto& [brief, full] : kPlaces) {
    if (!whole.starts_with(brief)) continue;
    whole = std::string(full) + whole.substr(brief.size());
    break;
  }
  return whole.starts_with(kModules) ? "torch.nn." + last_name(whole) : whole;
}

bool is_class(std::string_view name) { return name.starts_with("torch.nn.") && !name.starts_with(kPlaces[0].second); }

bool only_on_cpu(const Way& way) {
  return std::any_of(way.begin(), way.end(),
                     [](const Step& step) { return step.op.name.starts_with("aten::mkldnn_"); });
}

bool is_meant(const OperatorName& asked, const OperatorName& op) {
  return asked.name == op.name && (asked.overload.empty() || asked.overload == op.overload);
}

const FunctionRule* rule_of(const Policy& policy, const std::string& name) {
  const auto is_it = [&](const FunctionRule& rule) {
    std::string dotted = rule.function;
    std::replace(dotted.begin(), dotted.end(), ':', '.');
    return at_its_place(std::move(dotted)) == name;
  };
  const auto rule = std::find_if(policy.functions.rbegin(), policy.functions.rend(), is_it);
  return rule == policy.functions.rend() ? nullptr : &*rule;
}

}  // namespace

Functions::Functions(std::string_view text) {
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty());
  if (!lines.empty()) lines.erase(lines.begin());  // the version
  for (const absl::string_view line : lines) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    Function& function = all_.emplace_back();
    function.name = std::string(words[0]);
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view word(words[i].data(), words[i].size());
      if (word.starts_with('@'))
        function.within = word.substr(1);
      else
        function.ways.push_back(way_of(word));
    }
  }
  for (const Function& function : all_) {
    by_last_name_.emplace(last_name(function.name), &function);
    std::set<std::string> operators;
    for (const Way& way : function.ways)
      for (const Step& step : way) operators.insert(step.op.name);
    for (const std::string& op : operators) by_operator_[op].push_back(&function);
  }
}

const Functions& Functions::of_pytorch() {
  static const Functions* const functions = new Functions(shipped_functions());
  return *functions;
}

std::vector<const Function*> Functions::named(std::string_view name) const {
  const std::string whole = at_its_place(plain(name));
  std::vector<const Function*> found;
  const auto [begin, end] = by_last_name_.equal_range(last_name(whole));
  for (auto at = begin; at != end; ++at) {
    const bool is_placed = whole.find('.') != whole.npos;
    if (!is_placed || plain(at->second->name) == whole) found.push_back(at->second);
  }
  return found;
}

std::vector<const Function*> Functions::through(const OperatorName& op) const {
  const auto known = by_operator_.find(op.name);
  if (known == by_operator_.end()) return {};
  std::vector<const Function*> found;
  const auto has_it = [&](const Way& way) {
    return std::any_of(way.begin(), way.end(), [&](const Step& step) { return is_meant(op, step.op); });
  };
  std::copy_if(known->second.begin(), known->second.end(), std::back_inserter(found), [&](const Function* function) {
    return std::any_of(function->ways.begin(), function->ways.end(), has_it);
  });
  return found;
}

std::vector<Way> Functions::below(const OperatorName& op) const {
  std::vector<Way> all;
  for (const Function* function : through(op)) {
    if (is_class(function->name)) continue;  // a layer on the CPU may be made of what no other device has
    for (const Way& way : function->ways) {
      const auto at = std::find_if(way.begin(), way.end(), [&](const Step& step) { return is_meant(op, step.op); });
      if (at != way.end() && std::next(at) != way.end()) all.emplace_back(std::next(at), way.end());
    }
  }
  return all;
}

std::vector<WayDecision> decide(const Policy& policy, const Function& function, const std::vector<ModuleUse>& modules) {
  std::vector<WayDecision> all;
  const bool on_cpu = policy.device == "cpu" || policy.device == "any";
  for (const Way& way : function.ways) {
    WayDecision decided;
    decided.way = &way;
    for (const Step& step : way) {
      if (step.writes) break;
      decided.decision = decide(policy, step.op, modules);
      if (!decided.decision.ruled) continue;
      decided.by = &step;
      if (step.given_dtype && sets_dtype(decided.decision.policy)) decided.decision.policy = CastPolicy::kPassthrough;
      break;
    }
    if (decided.by != nullptr || on_cpu || !only_on_cpu(way)) all.push_back(std::move(decided));
  }
  return all;
}

const FunctionRule* rule_of(const Policy& policy, const Function& function) {
  std::string name = function.name;
  if (name.ends_with(kOut)) name.resize(name.size() - kOut.size());
  const FunctionRule* const own = rule_of(policy, name);
  return own != nullptr || function.within.empty() ? own : rule_of(policy, function.within);
}

}  // namespace castscope::policy
