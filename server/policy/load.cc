#include "server/policy/load.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/config/nearest.h"
#include "server/files/plain_file.h"
#include "server/policy/policy_file.h"
#include "server/policy/shipped.h"

namespace castscope::policy {
namespace {

namespace fs = std::filesystem;
using absl::StrCat;

constexpr std::size_t kLargest = 16 << 20;

// A policy's text, with the names that it goes by.
struct Source {
  std::string text;
  std::string file;    // its name in complaints
  std::string key;     // the same for one policy, however it is named
  std::string folder;  // folder in which the policies that it names are looked for; "" = it is shipped and names
                       // shipped ones only
};

absl::StatusOr<std::string> content_of(const std::string& file) {
  absl::StatusOr<std::string> text = files::read_plain(file, kLargest);
  if (absl::IsOutOfRange(text.status())) return absl::InvalidArgumentError(StrCat(file, ": too large for a policy"));
  if (!text.ok()) return absl::NotFoundError(StrCat(file, " cannot be read: ", text.status().message()));
  return text;
}

absl::StatusOr<Source> find(const std::string& name, const std::string& folder) {
  const bool is_name = name.find('/') == name.npos && !name.ends_with(".json");
  if (is_name) {
    if (const auto text = shipped_policy(name))
      return Source{std::string(*text), StrCat(name, ".json"), StrCat("shipped:", name), ""};
    const auto names = shipped_names();
    std::string list;
    for (const std::string_view one : names) list.append(list.empty() ? "" : ", ").append(one);
    return absl::InvalidArgumentError(StrCat("no policy \"", name, "\" is shipped", config::meant(name, names),
                                             " (there are ", list, "; a file's name ends with .json)"));
  }
  const fs::path file = fs::path(folder) / name;
  auto text = content_of(file.string());
  if (!text.ok()) return text.status();
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  return Source{*std::move(text), file.lexically_normal().string(), error ? file.string() : real.string(),
                file.parent_path().empty() ? "." : file.parent_path().string()};
}

class Loader {
 public:
  explicit Loader(const Operators& operators) : operators_(operators) {}

  absl::StatusOr<Policy> load(const std::string& name, const std::string& folder, const Place& named_at) {
    auto source = find(name, folder);
    if (!source.ok()) return at(named_at, source.status());
    if (const auto again = std::find(way_.begin(), way_.end(), source->key); again != way_.end())
      return at(named_at, absl::InvalidArgumentError(circle(source->file)));
    way_.push_back(source->key);
    files_.push_back(source->file);
    auto policy = read(*source, name);
    way_.pop_back();
    files_.pop_back();
    return policy;
  }

 private:
  static absl::Status at(const Place& place, const absl::Status& status) {
    if (place.empty()) return status;
    return absl::Status(status.code(), StrCat(place, ": ", std::string(status.message())));
  }

  std::string circle(const std::string& file) const {
    return StrCat("policies extend each other in a circle: ", absl::StrJoin(files_, " → "), " → ", file);
  }

  absl::StatusOr<Policy> read(const Source& source, const std::string& name) {
    auto file = parse_policy(source.text, source.file, operators_);
    if (!file.ok()) return file.status();
    Policy& own = file->policy;
    own.name = name;
    for (ModuleRule& rule : own.modules) {
      if (rule.precision.kind != Precision::Kind::kPolicy) continue;
      auto other = load(rule.precision.policy, source.folder, rule.place);
      if (!other.ok()) return other.status();
      rule.precision.by = std::make_shared<const Policy>(*std::move(other));
    }
    if (own.device.empty() || !file->extends.empty()) return extended(*std::move(file), source);
    own.files = {source.file};
    return std::move(own);
  }

  absl::StatusOr<Policy> extended(PolicyFile file, const Source& source) {
    Policy all;
    std::vector<std::pair<OperatorName, OperatorRule>> disagreeing;
    for (const PolicyFile::Parent& parent : file.extends) {
      auto base = load(parent.name, source.folder, parent.place);
      if (!base.ok()) return base.status();
      if (!all.device.empty() && file.policy.device.empty() && base->device != all.device)
        return at(parent.place,
                  absl::InvalidArgumentError(StrCat("this one is for ", base->device, ", the one before it for ",
                                                    all.device, ": say which \"device\" is meant")));
      for (const auto& [op, rule] : base->operators) {
        const auto before = all.operators.find(op);
        if (before != all.operators.end() && before->second.policy != rule.policy) disagreeing.push_back({op, rule});
      }
      put_over(all, *std::move(base));
    }
    for (const auto& [op, rule] : disagreeing) {
      if (is_said(file.policy, op)) continue;
      const auto& last = all.operators[op];
      return at(file.extends.front().place,
                absl::InvalidArgumentError(StrCat("the policies that this one extends disagree on \"", shown(op),
                                                  "\" (", rule.place,
                                                  " and before it): say here which cast policy the operator has, ",
                                                  std::string(policy::name(last.policy)), " or another")));
    }
    put_over(all, std::move(file.policy));
    all.files.push_back(source.file);
    return all;
  }

  static bool is_said(const Policy& policy, const OperatorName& op) {
    return policy.operators.contains(op) || policy.operators.contains({op.name, ""});
  }

  // Lets the rules of `upper` take precedence over those of `lower`.
  static void put_over(Policy& lower, Policy upper) {
    lower.name = upper.name;
    if (!upper.description.empty()) lower.description = std::move(upper.description);
    if (!upper.device.empty()) lower.device = std::move(upper.device);
    if (upper.dtype) lower.dtype = upper.dtype;
    if (upper.default_dtype) lower.default_dtype = upper.default_dtype;
    put_over(lower.operators, std::move(upper.operators));
    put_over(lower.never_cast, std::move(upper.never_cast));
    std::move(upper.modules.begin(), upper.modules.end(), std::back_inserter(lower.modules));
    std::set<std::string> said_anew;
    for (const FunctionRule& rule : upper.functions) said_anew.insert(rule.function);
    std::erase_if(lower.functions, [&](const FunctionRule& rule) { return said_anew.contains(rule.function); });
    std::move(upper.functions.begin(), upper.functions.end(), std::back_inserter(lower.functions));
    const auto set = [](auto& low, const auto& up) {
      if (up) low = up;
    };
    set(lower.cache.enabled, upper.cache.enabled);
    set(lower.cache.frozen, upper.cache.frozen);
    set(lower.cache.views, upper.cache.views);
    set(lower.cache.nonleaf, upper.cache.nonleaf);
    set(lower.cache.max_bytes, upper.cache.max_bytes);
    set(lower.cache.keep, upper.cache.keep);
    for (std::string& file : upper.files) {
      if (std::find(lower.files.begin(), lower.files.end(), file) == lower.files.end())
        lower.files.push_back(std::move(file));
    }
  }

  template <typename Rule>
  static void put_over(std::map<OperatorName, Rule>& lower, std::map<OperatorName, Rule> upper) {
    for (auto& [op, rule] : upper) {
      const auto of_that_name = [&](auto at) { return at != lower.end() && at->first.name == op.name; };
      if (op.overload.empty())
        for (auto at = lower.lower_bound(op); of_that_name(at);) at = lower.erase(at);
      lower[op] = std::move(rule);
    }
  }

  const Operators& operators_;
  std::vector<std::string> way_, files_;  // from the requested policy to the one being read
};

}  // namespace

bool is_json_schema(const std::string& name) {
  if (!name.ends_with(".json")) return false;
  const auto text = content_of(name);
  if (!text.ok()) return false;
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("$schema") || !json["$schema"].is_string()) return false;
  return absl::StrContains(json["$schema"].get_ref<const std::string&>(), "json-schema.org/");
}

absl::StatusOr<Policy> load(const std::string& name, const Operators& operators) {
  return Loader(operators).load(name, "", "");
}

}  // namespace castscope::policy
