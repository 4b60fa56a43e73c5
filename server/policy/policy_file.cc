#include "server/policy/policy_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/enforce/decided/pattern.h"
#include "server/config/amounts.h"
#include "server/config/json_places.h"
#include "server/config/nearest.h"

namespace castscope::policy {
namespace {

using Json = nlohmann::json;
using absl::Status;
using absl::StrCat;

constexpr std::array<std::string_view, 11> kKeys = {"$schema", "description",   "extends",   "device",
                                                    "dtype",   "default_dtype", "operators", "never_cast",
                                                    "modules", "functions",     "cache"};
constexpr std::array<std::string_view, 6> kCacheKeys = {"enabled", "max_bytes", "keep", "frozen", "views", "nonleaf"};
constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "bfloat16", "float16", "passthrough"};

std::string in_quotes(std::string_view text) { return StrCat("\"", std::string(text), "\""); }

template <std::size_t n>
std::string listed(const std::array<std::string_view, n>& names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

template <typename Enum, std::size_t n>
std::optional<Enum> one_of(const std::array<std::string_view, n>& names, const Json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), value.get<std::string>());
  return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

class Parser {
 public:
  Parser(const config::PlacedJson& json, const Operators& operators) : json_(json), operators_(operators) {}

  absl::StatusOr<PolicyFile> parse() {
    if (!json_.root().is_object()) return wrong("", "a policy must be one object: { \"device\": \"cpu\", … }");
    for (const auto& [key, value] : json_.root().items()) {
      if (Status status = member(below("", key), key, value); !status.ok()) return status;
    }
    if (policy_.device.empty() && file_.extends.empty())
      return wrong("", StrCat("a policy that extends no other must name its device: one of ", listed(kDeviceNames)));
    file_.policy = std::move(policy_);
    return std::move(file_);
  }

 private:
  Status wrong(const std::string& at, const std::string& sentence) const { return json_.complaint(at, sentence); }
  static std::string below(const std::string& pointer, const std::string& key) {
    return (Json::json_pointer(pointer) / key).to_string();
  }

  Status member(const std::string& at, const std::string& key, const Json& value) {
    if (key == "$schema") return absl::OkStatus();
    if (key == "description") return text(at, value, policy_.description);
    if (key == "extends") return extends(at, value);
    if (key == "device") return device(at, value);
    if (key == "dtype") return choice(at, value, kDtypeNames, policy_.dtype);
    if (key == "default_dtype") return default_dtype(at, value);
    if (key == "operators") return operators(at, value);
    if (key == "never_cast") return never_cast(at, value);
    if (key == "modules") return modules(at, value);
    if (key == "functions") return functions(at, value);
    if (key == "cache") return cache(at, value);
    return wrong(at, StrCat("there is no ", in_quotes(key), " in a policy", config::meant(key, kKeys), " (it may have ",
                            listed(kKeys), ")"));
  }

  Status text(const std::string& at, const Json& value, std::string& into) const {
    if (!value.is_string()) return wrong(at, "this must be a string in quotation marks");
    into = value.get<std::string>();
    return absl::OkStatus();
  }

  template <typename Enum, std::size_t n>
  Status choice(const std::string& at, const Json& value, const std::array<std::string_view, n>& names,
                std::optional<Enum>& into) const {
    into = one_of<Enum>(names, value);
    if (into) return absl::OkStatus();
    const std::string written = value.is_string() ? value.get<std::string>() : value.dump();
    return wrong(at, StrCat(in_quotes(written), " is none of ", listed(names), config::meant(written, names)));
  }

  // "ambient" would mean nothing here: this dtype is what is ambient where no region names one.
  Status default_dtype(const std::string& at, const Json& value) {
    std::optional<Dtype> dtype;
    if (Status status = choice(at, value, kDtypeNames, dtype); !status.ok()) return status;
    if (*dtype == Dtype::kAmbient)
      return wrong(at, "\"ambient\" is not a dtype for regions that name none: it must be bfloat16 or float16");
    policy_.default_dtype = dtype;
    return absl::OkStatus();
  }

  Status extends(const std::string& at, const Json& value) {
    if (value.is_string()) {
      file_.extends.push_back({value.get<std::string>(), json_.place(at)});
      return absl::OkStatus();
    }
    if (!value.is_array()) return wrong(at, "this must be a policy's name or file, or a list of them");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string entry = below(at, std::to_string(i));
      if (!value[i].is_string()) return wrong(entry, "this must be a policy's name or file, in quotation marks");
      file_.extends.push_back({value[i].get<std::string>(), json_.place(entry)});
    }
    return absl::OkStatus();
  }

  Status device(const std::string& at, const Json& value) {
    if (Status status = text(at, value, policy_.device); !status.ok()) return status;
    if (std::find(kDeviceNames.begin(), kDeviceNames.end(), policy_.device) != kDeviceNames.end())
      return absl::OkStatus();
    return wrong(at, StrCat(in_quotes(policy_.device), " is not a device that policies are for",
                            config::meant(policy_.device, kDeviceNames), " (", listed(kDeviceNames), ")"));
  }

  // ---- operators

  Status operators(const std::string& at, const Json& value) {
    if (!value.is_object())
      return wrong(at,
                   "this must be an object of cast policies: {\"fp32\": [\"softmax\"], \"passthrough\": [\"cat\"]}");
    for (const auto& [key, list] : value.items()) {
      const std::string entry = below(at, key);
      const auto policy = cast_policy_of(key);
      if (!policy)
        return wrong(entry, StrCat(in_quotes(key), " is not a cast policy", config::meant(key, kCastPolicyNames), " (",
                                   listed(kCastPolicyNames), ")"));
      Status status = list.is_object() ? banned(entry, *policy, list) : operator_list(entry, *policy, list);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  Status operator_list(const std::string& at, CastPolicy policy, const Json& list) {
    if (!list.is_array()) return wrong(at, "this must be a list of operators: [\"linear\", \"sum.dim_IntList\"]");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string entry = below(at, std::to_string(i));
      if (!list[i].is_string()) return wrong(entry, "an operator's name must be a string in quotation marks");
      if (Status status = add(entry, list[i].get<std::string>(), policy, ""); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  Status banned(const std::string& at, CastPolicy policy, const Json& messages) {
    if (policy != CastPolicy::kBanned)
      return wrong(at, "only \"banned\" is an object, of operators and messages; this must be a list of operators");
    for (const auto& [op, message] : messages.items()) {
      const std::string entry = below(at, op);
      if (!message.is_string() || message.get<std::string>().empty())
        return wrong(entry, "after a banned operator comes the error's message, in quotation marks");
      if (Status status = add(entry, op, policy, message.get<std::string>()); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Checks NAMESPACE::NAME.OVERLOAD, in which only the name is required.
  static bool is_name(const std::string& written) {
    std::string error;
    static const auto* const form =
        new std::optional(enforce::Pattern::parse("(?:[A-Za-z_]\\w*::)?[A-Za-z_]\\w*(?:\\.\\w+)?", &error));
    return form->value().matches_all(written);
  }

  Status known(const std::string& at, const std::string& written, OperatorName& op) const {
    op = operator_name(written);
    const std::string trouble = is_name(written) ? operators_.trouble(op) : "is not an operator's name";
    return trouble.empty() ? absl::OkStatus() : wrong(at, StrCat(in_quotes(written), " ", trouble));
  }

  Status add(const std::string& at, const std::string& written, CastPolicy policy, const std::string& message) {
    OperatorName op;
    if (Status status = known(at, written, op); !status.ok()) return status;
    if (policy == CastPolicy::kFp32SetOptDtype || policy == CastPolicy::kFp32AppendDtype) {
      const std::string trouble = operators_.trouble_with_dtype(op, policy == CastPolicy::kFp32AppendDtype);
      if (!trouble.empty()) return wrong(at, StrCat(in_quotes(written), " ", trouble));
    }
    OperatorRule rule{policy, message, json_.place(at)};
    const auto [before, is_new] = policy_.operators.emplace(op, rule);
    if (is_new) return absl::OkStatus();
    if (before->second.policy == policy) return wrong(at, StrCat(in_quotes(written), " stands in this list twice"));
    return wrong(at, StrCat(in_quotes(written), " is ", std::string(name(policy)), " here and ",
                            std::string(name(before->second.policy)), " at ", before->second.place,
                            ": an operator has one cast policy"));
  }

  Status never_cast(const std::string& at, const Json& value) {
    if (!value.is_object())
      return wrong(at, "this must be an object of operators and arguments: {\"torchvision::roi_align\": [\"rois\"]}");
    for (const auto& [written, list] : value.items()) {
      const std::string entry = below(at, written);
      if (is_function(written))
        return wrong(entry,
                     StrCat(in_quotes(written),
                            " is a Python function, and never_cast names operators: name the "
                            "one that it calls (torchvision::roi_align), or write @castscope.never_cast(\"…\") at "
                            "the function"));
      OperatorName op;
      if (Status status = known(entry, written, op); !status.ok()) return status;
      ArgumentRule rule{{}, json_.place(entry)};
      if (!list.is_array() || list.empty()) return wrong(entry, "this must be a list of arguments: [\"rois\"]");
      for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string place = below(entry, std::to_string(i));
        if (!list[i].is_string()) return wrong(place, "an argument's name must be a string in quotation marks");
        const std::string trouble = operators_.trouble(op, list[i].get<std::string>());
        if (!trouble.empty()) return wrong(place, StrCat(in_quotes(written), " ", trouble));
        rule.arguments.push_back(list[i].get<std::string>());
      }
      const auto [before, is_new] = policy_.never_cast.emplace(op, std::move(rule));
      if (!is_new)
        return wrong(entry, StrCat(in_quotes(written), " stands here twice, first at ", before->second.place));
    }
    return absl::OkStatus();
  }

  // Checks "package.module:function".
  static bool is_function(const std::string& written) {
    const std::size_t colon = written.find(':');
    return colon != 0 && colon != written.npos && colon + 1 < written.size() &&
           written.find(':', colon + 1) == written.npos && written.find_first_of(" \t/") == written.npos;
  }

  // ---- modules and functions

  // Returns the keys in the order in which they are written.
  std::vector<std::string> written_order(const std::string& at, const Json& object) const {
    std::vector<std::string> keys;
    for (const auto& [key, unused] : object.items()) keys.push_back(key);
    std::sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
      return json_.order(below(at, a)) < json_.order(below(at, b));
    });
    return keys;
  }

  Status modules(const std::string& at, const Json& value) {
    if (!value.is_object())
      return wrong(at, "this must be an object of modules and precisions: {\"head\\\\..*\": \"fp32\"}");
    for (const std::string& pattern : written_order(at, value)) {
      const std::string entry = below(at, pattern);
      if (Status status = regular_expression(entry, pattern); !status.ok()) return status;
      ModuleRule& rule = policy_.modules.emplace_back();
      rule.pattern = pattern;
      rule.place = json_.place(entry);
      if (Status status = precision(entry, value[pattern], rule.precision); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  Status regular_expression(const std::string& at, const std::string& pattern) const {
    if (pattern.empty())
      return wrong(at,
                   "this must be a regular expression that a module's path or class matches, as in \"head\\\\..*\"");
    std::string error;
    if (enforce::Pattern::parse(pattern, &error)) return absl::OkStatus();
    return wrong(at, StrCat(in_quotes(pattern), " is not a pattern of modules: ", error));
  }

  Status precision(const std::string& at, const Json& value, Precision& into) const {
    if (!value.is_string() || value.get<std::string>().empty())
      return wrong(at, StrCat("this must be one of ", listed(kPrecisions), ", or another policy's name or file"));
    const std::string written = value.get<std::string>();
    if (written == "fp32") {
      into.kind = Precision::Kind::kFp32;
    } else if (written == "passthrough") {
      into.kind = Precision::Kind::kPassthrough;
    } else if (const auto dtype = one_of<Dtype>(kDtypeNames, value); dtype && *dtype != Dtype::kAmbient) {
      into.kind = Precision::Kind::kLower, into.dtype = *dtype;
    } else {
      into.kind = Precision::Kind::kPolicy, into.policy = written;
    }
    return absl::OkStatus();
  }

  Status functions(const std::string& at, const Json& value) {
    if (!value.is_object())
      return wrong(at, "this must be an object of functions and casts: {\"package.module:function\": \"half\"}");
    for (const std::string& function : written_order(at, value)) {
      const std::string entry = below(at, function);
      if (!is_function(function))
        return wrong(entry, StrCat(in_quotes(function), " is not of the form \"package.module:function\""));
      std::optional<FunctionCast> cast;
      if (Status status = choice(entry, value[function], kFunctionCastNames, cast); !status.ok()) return status;
      policy_.functions.push_back({function, *cast, json_.place(entry)});
    }
    return absl::OkStatus();
  }

  // ---- cache

  Status cache(const std::string& at, const Json& value) {
    if (!value.is_object()) return wrong(at, "this must be an object: {\"max_bytes\": \"2GiB\", \"frozen\": true}");
    CacheRules& cache = policy_.cache;
    for (const auto& [key, said] : value.items()) {
      const std::string entry = below(at, key);
      Status status;
      if (key == "max_bytes")
        status = bytes(entry, said, cache.max_bytes);
      else if (key == "keep")
        status = choice(entry, said, kKeepNames, cache.keep);
      else if (std::optional<bool>* const of = flag(key))
        status = truth(entry, said, *of);
      else
        status = wrong(entry, StrCat("a policy's cache has no ", in_quotes(key), config::meant(key, kCacheKeys),
                                     " (it has ", listed(kCacheKeys), ")"));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::optional<bool>* flag(const std::string& key) {
    CacheRules& cache = policy_.cache;
    return key == "enabled"   ? &cache.enabled
           : key == "frozen"  ? &cache.frozen
           : key == "views"   ? &cache.views
           : key == "nonleaf" ? &cache.nonleaf
                              : nullptr;
  }

  Status truth(const std::string& at, const Json& value, std::optional<bool>& into) const {
    if (!value.is_boolean()) return wrong(at, "this must be true or false");
    into = value.get<bool>();
    return absl::OkStatus();
  }

  Status bytes(const std::string& at, const Json& value, std::optional<std::uint64_t>& into) const {
    if (value.is_number_unsigned()) into = value.get<std::uint64_t>();
    if (value.is_string()) into = config::parse_bytes(value.get<std::string>());
    return into ? absl::OkStatus() : wrong(at, "this must be a size: 2147483648, \"2GiB\" or \"500MB\"");
  }

  const config::PlacedJson& json_;
  const Operators& operators_;
  Policy policy_;
  PolicyFile file_;
};

}  // namespace

absl::StatusOr<PolicyFile> parse_policy(const std::string& text, const std::string& file, const Operators& operators) {
  const auto json = config::PlacedJson::parse(text, file);
  if (!json.ok()) return json.status();
  return Parser(*json, operators).parse();
}

}  // namespace castscope::policy
