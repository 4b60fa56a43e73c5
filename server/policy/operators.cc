#include "server/policy/operators.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/config/nearest.h"
#include "server/policy/shipped.h"

namespace castscope::policy {
namespace {

constexpr std::string_view kAten = "aten::";

std::string listed(const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace

Operators::Operators(std::string_view text) {
  std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty());
  if (lines.empty()) return;
  version_ = {lines[0].data(), lines[0].size()};
  lines.erase(lines.begin());
  for (const absl::string_view line : lines) {
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 2) continue;
    Overload overload;
    overload.name = {words[1].data(), words[1].size()};
    std::string_view name(words[0].data(), words[0].size());
    overload.writes = name.starts_with('!');
    overload.is_view = name.starts_with('~');
    if (overload.writes || overload.is_view) name.remove_prefix(1);
    overload.takes_dtype = words.back() == "=dtype";
    if (overload.takes_dtype) words.pop_back();
    for (std::size_t i = 2; i < words.size(); ++i) overload.tensors.emplace_back(words[i].data(), words[i].size());
    operators_[name].push_back(std::move(overload));
  }
}

const Operators& Operators::of_pytorch() {
  static const Operators* const operators = new Operators(shipped_operators());
  return *operators;
}

const std::vector<Operators::Overload>* Operators::find(const std::string& name) const {
  if (!name.starts_with(kAten)) return nullptr;
  const auto found = operators_.find(std::string_view(name).substr(kAten.size()));
  return found == operators_.end() ? nullptr : &found->second;
}

std::vector<std::string> Operators::overloads(const std::string& name) const {
  std::vector<std::string> names;
  const auto* const overloads = find(name);
  if (overloads == nullptr) return names;
  for (const Overload& one : *overloads) {
    if (!one.writes && !one.is_view)
      names.insert(one.name == "default" ? names.begin() : names.end(), std::string(one.name));
  }
  return names;
}

std::string Operators::trouble(const OperatorName& op) const {
  if (!op.name.starts_with(kAten)) return "";
  const auto* const overloads = find(op.name);
  if (overloads == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : operators_) names.push_back(name);
    return absl::StrCat("is not an operator of ", std::string(version_),
                        config::meant(std::string_view(op.name).substr(kAten.size()), names));
  }
  const auto is_meant = [&](const Overload& one) { return op.overload.empty() || one.name == op.overload; };
  if (std::none_of(overloads->begin(), overloads->end(), is_meant)) {
    std::vector<std::string_view> known;
    for (const Overload& one : *overloads) {
      if (!one.writes) known.push_back(one.name);
    }
    return absl::StrCat("has no overload ", op.overload, "; it has ", listed(known));
  }
  // A cast would hand it a copy, and the values that it writes would be lost.
  const auto refused = [&](const Overload& one) { return !is_meant(one) || one.writes; };
  if (std::all_of(overloads->begin(), overloads->end(), refused))
    return "writes into an argument: autocast leaves such operators alone, since what is written into a copy is lost";
  const auto never_meant = [&](const Overload& one) { return refused(one) || (one.is_view && op.overload.empty()); };
  if (std::all_of(overloads->begin(), overloads->end(), never_meant))
    return absl::StrCat("returns a view of its argument: name the overload (", shown(op),
                        ".default) to have it return a view of a copy");
  return "";
}

std::string Operators::trouble_with_dtype(const OperatorName& op, bool by_another) const {
  const auto* const overloads = find(op.name);
  if (overloads == nullptr) return "";
  const auto takes_one = [&](const Overload& one) {
    return one.takes_dtype && !one.writes && (by_another || op.overload.empty() || one.name == op.overload);
  };
  if (std::any_of(overloads->begin(), overloads->end(), takes_one)) return "";
  return "takes no dtype: to have it compute in float32, list it under fp32";
}

std::string Operators::trouble(const OperatorName& op, const std::string& argument) const {
  if (!op.name.starts_with(kAten)) return "";
  const auto* const overloads = find(op.name);
  if (overloads == nullptr) return "";
  std::vector<std::string_view> names;
  for (const Overload& one : *overloads) {
    if (op.overload.empty() || one.name == op.overload)
      names.insert(names.end(), one.tensors.begin(), one.tensors.end());
  }
  if (std::find(names.begin(), names.end(), argument) != names.end()) return "";
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return absl::StrCat("has no argument \"", argument, "\" that holds a tensor", config::meant(argument, names),
                      " (it has ", listed(names), ")");
}

}  // namespace castscope::policy
