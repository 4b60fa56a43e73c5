#include "server/policy/difference.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "server/policy/decide.h"

namespace castscope::policy {
namespace {

constexpr const char* kNotSaid = "not said";

// Every overload that one of the two may mean, by operator.
std::map<std::string, std::set<std::string>> meant_by(const Policy& a, const Policy& b, const Operators& operators) {
  std::map<std::string, std::set<std::string>> all;
  for (const Policy* policy : {&a, &b}) {
    for (const auto& [op, rule] : policy->operators) {
      std::set<std::string>& overloads = all[op.name];
      if (!op.overload.empty()) overloads.insert(op.overload);
      for (std::string& one : operators.overloads(op.name)) overloads.insert(std::move(one));
    }
  }
  // Which overloads an operator of another namespace has is known to the job alone.
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
  // The last one of a pattern is the one that is meant.
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

PolicyDifference difference_of(const Policy& before, const Policy& after, const Operators& operators) {
  PolicyDifference difference{.operators = operator_changes(before, after, operators), .settings = {}};
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
