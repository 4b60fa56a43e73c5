#include "server/policy/difference.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "server/policy/decide.h"

namespace castscope::policy {
namespace {

constexpr const char* kNotSaid = "not said";

// Returns every overload that one of the two policies may mean, by operator.
std::map<std::string, std::set<std::string>> meant_by(const Policy& a, const Policy& b, const Operators& operators) {
  std::map<std::string, std::set<std::string>> all;
  for (const Policy* policy : {&a, &b}) {
    for (const auto& [op, rule] : policy->operators) {
      std::set<std::string>& overloads = all[op.name];
      if (!op.overload.empty()) overloads.insert(op.overload);
      for (std::string& one : operators.overloads(op.name)) overloads.insert(std::move(one));
    }
  }
  // Only the job knows the overloads of operators in other namespaces.
  for (auto& [name, overloads] : all) {
    if (overloads.empty()) overloads.insert("default");
  }
  return all;
}

std::vector<OperatorChange> operator_changes(const Policy& before, const Policy& after, const Operators& operators) {
  std::vector<OperatorChange> changes;
  for (const auto& [name, overloads] : meant_by(before, after, operators)) {
    std::vector<OperatorChange> of_this;
    for (const std::string& overload : overloads) {
      const OperatorName op{name, overload};
      of_this.push_back({op, decide(before, op).policy, decide(after, op).policy});
    }
    const auto same_way = [&](const OperatorChange& one) {
      return one.before == of_this[0].before && one.after == of_this[0].after;
    };
    if (std::all_of(of_this.begin(), of_this.end(), same_way)) {
      of_this.resize(1);
      of_this[0].op.overload.clear();
    }
    for (OperatorChange& one : of_this) {
      if (one.before != one.after) changes.push_back(std::move(one));
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const OperatorChange& a, const OperatorChange& b) {
    return std::tie(a.before, a.after) < std::tie(b.before, b.after);
  });
  return changes;
}

OperatorName plain(OperatorName op) {
  if (op.overload == "default") op.overload.clear();
  return op;
}

std::string text_of(const Way& way) {
  std::string text;
  for (const Step& step : way) text.append(text.empty() ? "" : ">").append(shown(plain(step.op)));
  return text;
}

// Returns the decision for each way that the policy reaches.
std::map<std::string, CastPolicy> fates(const Policy& policy, const Function& function) {
  std::map<std::string, CastPolicy> all;
  for (const WayDecision& decided : decide(policy, function))
    if (decided.reached()) all.emplace(text_of(*decided.way), decided.decision.policy);
  return all;
}

std::string in_words(const std::map<std::string, CastPolicy>& ways) {
  std::set<CastPolicy> kinds;
  for (const auto& [way, kind] : ways) kinds.insert(kind);
  std::string text;
  for (const CastPolicy kind : kinds) text.append(text.empty() ? "" : ", ").append(name(kind));
  return text.empty() ? "not reached" : text;
}

// For a change whose two sides would read the same: names those ways instead that the policies decide differently.
void set_differing_ways(const std::map<std::string, CastPolicy>& before, const std::map<std::string, CastPolicy>& after,
                        FunctionChange& change) {
  std::string a, b;
  for (const auto& [way, kind] : before) {
    const auto other = after.find(way);
    if (other == after.end() || other->second == kind) continue;
    absl::StrAppend(&a, a.empty() ? "" : ", ", way, " (", std::string(name(kind)), ")");
    absl::StrAppend(&b, b.empty() ? "" : ", ", way, " (", std::string(name(other->second)), ")");
  }
  change.before = a, change.after = b;
}

FunctionChange change_of(const Policy& before, const Policy& after, const Function& function) {
  FunctionChange change{function.name, "", ""};
  const FunctionRule *const a = rule_of(before, function), *const b = rule_of(after, function);
  const auto as_a_whole = [](const FunctionRule& rule) {
    return absl::StrCat(std::string(name(rule.cast)), " as a whole");
  };
  auto ways_before = fates(before, function), ways_after = fates(after, function);
  const auto keep_common = [](auto& ways, const auto& others) {
    std::erase_if(ways, [&](const auto& way) { return !others.contains(way.first); });
  };
  keep_common(ways_before, ways_after);  // some ways are the CPU's alone
  keep_common(ways_after, ways_before);
  change.before = a != nullptr ? as_a_whole(*a) : in_words(ways_before);
  change.after = b != nullptr ? as_a_whole(*b) : in_words(ways_after);
  if (a == nullptr && b == nullptr && change.before == change.after)
    set_differing_ways(ways_before, ways_after, change);
  return change;
}

std::vector<FunctionChange> function_changes(const Policy& before, const Policy& after, const Functions& functions) {
  std::vector<FunctionChange> changes;
  for (const Function& function : functions.all()) {
    FunctionChange change = change_of(before, after, function);
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const FunctionChange& a, const FunctionChange& b) {
    return std::tie(a.before, a.after) < std::tie(b.before, b.after);
  });
  return changes;
}

using Settings = std::map<std::string, std::string>;

void add_cache(const CacheRules& cache, Settings& settings) {
  const auto flag = [&](const char* what, const std::optional<bool>& value) {
    if (value) settings[absl::StrCat("cache ", what)] = *value ? "true" : "false";
  };
  flag("enabled", cache.enabled);
  flag("frozen", cache.frozen);
  flag("views", cache.views);
  flag("nonleaf", cache.nonleaf);
  if (cache.max_bytes) settings["cache max_bytes"] = absl::StrCat(*cache.max_bytes);
  if (cache.keep) settings["cache keep"] = kKeepNames[static_cast<std::size_t>(*cache.keep)];
}

Settings settings_of(const Policy& policy) {
  Settings settings;
  settings["device"] = policy.device;
  if (policy.dtype) settings["dtype"] = name(*policy.dtype);
  if (policy.default_dtype) settings["default_dtype"] = name(*policy.default_dtype);
  for (const auto& [op, rule] : policy.operators) {
    if (rule.policy == CastPolicy::kBanned) settings[absl::StrCat("message of ", shown(op))] = rule.message;
  }
  for (const auto& [op, rule] : policy.never_cast) {
    for (const std::string& argument : rule.arguments)
      settings[absl::StrCat("never_cast ", shown(op), " ", argument)] = "said";
  }
  // The last rule for a pattern is the one in effect.
  for (const ModuleRule& rule : policy.modules) settings[absl::StrCat("module ", rule.pattern)] = shown(rule.precision);
  for (const FunctionRule& rule : policy.functions)
    settings[absl::StrCat("function ", rule.function)] = name(rule.cast);
  add_cache(policy.cache, settings);
  return settings;
}

std::string said(const Settings& settings, const std::string& what) {
  const auto found = settings.find(what);
  return found == settings.end() ? kNotSaid : found->second;
}

}  // namespace

PolicyDifference difference_of(const Policy& before, const Policy& after, const Operators& operators,
                               const Functions& functions) {
  PolicyDifference difference{.operators = operator_changes(before, after, operators),
                              .settings = {},
                              .functions = function_changes(before, after, functions)};
  const Settings a = settings_of(before), b = settings_of(after);
  std::set<std::string> all;
  for (const auto* settings : {&a, &b}) {
    for (const auto& [what, value] : *settings) all.insert(what);
  }
  for (const std::string& what : all) {
    if (said(a, what) != said(b, what)) difference.settings.push_back({what, said(a, what), said(b, what)});
  }
  return difference;
}

}  // namespace castscope::policy
