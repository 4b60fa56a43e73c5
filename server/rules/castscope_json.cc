#include "server/rules/castscope_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/config/json_places.h"
#include "server/config/nearest.h"
#include "server/config/settings_file.h"
#include "server/files/owner.h"
#include "server/files/plain_file.h"
#include "server/rules/rules.h"
#include "server/rules/suggest.h"

namespace castscope::rules {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::string_view, 7> kKeys = {"$schema",    "select",           "ignore",        "severity",
                                                   "thresholds", "per-path-ignores", "min_step_share"};

using config::PlacedJson;

std::string meant_rule(const std::string& name) {
  const auto suggestion = nearest_rule(name);
  return suggestion ? absl::StrCat("; did you mean \"", *suggestion, "\"?") : "";
}

std::string names_of(const Rule& rule) {
  if (rule.thresholds.empty()) return "it has none";
  return absl::StrCat("it has ", absl::StrJoin(rule.thresholds, ", ", [](std::string* out, const Threshold& threshold) {
                        out->append(threshold.name);
                      }));
}

class SettingsParser {
 public:
  explicit SettingsParser(const PlacedJson& json) : json_(json) {}

  absl::StatusOr<Settings> parse() {
    const Json& root = json_.root();
    if (!root.is_object()) return wrong("", "castscope.json must hold one object: { \"ignore\": [ … ] }");
    Settings settings;
    for (const auto& [key, value] : root.items()) {
      absl::Status status = member(key, value, settings);
      if (!status.ok()) return status;
    }
    return settings;
  }

 private:
  absl::Status wrong(const std::string& pointer, const std::string& sentence) const {
    return json_.complaint(pointer, sentence);
  }
  static std::string below(const std::string& pointer, const std::string& key) {
    return (Json::json_pointer(pointer) / key).to_string();
  }

  absl::Status member(const std::string& key, const Json& value, Settings& settings) const {
    const std::string at = below("", key);
    if (key == "$schema") return absl::OkStatus();
    if (key == "select") return patterns(at, value, settings.select);
    if (key == "ignore") return patterns(at, value, settings.ignore);
    if (key == "severity") return severities(at, value, settings);
    if (key == "thresholds") return thresholds(at, value, settings);
    if (key == "per-path-ignores") return paths(at, value, settings);
    if (key == "min_step_share") return step_share(at, value, settings);
    return wrong(at, absl::StrCat("there is no setting \"", key, "\"", config::meant(key, kKeys),
                                  " (docs/castscope.schema.json has them all)"));
  }

  absl::Status known_rule(const std::string& at, const std::string& name) const {
    if (find_rule(name) != nullptr) return absl::OkStatus();
    return wrong(at,
                 absl::StrCat("there is no rule \"", name, "\"", meant_rule(name), " (`castscope rules` lists them)"));
  }
  absl::Status known_pattern(const std::string& at, const std::string& pattern) const {
    if (!pattern.ends_with('*')) return known_rule(at, pattern);
    const auto rules = all_rules();
    const bool any =
        std::any_of(rules.begin(), rules.end(), [&](const Rule* rule) { return names_rule(pattern, rule->name); });
    return any ? absl::OkStatus() : wrong(at, absl::StrCat("no rule's name begins like \"", pattern, "\""));
  }

  absl::Status patterns(const std::string& at, const Json& value, std::vector<std::string>& into) const {
    if (!value.is_array()) return wrong(at, "this must be a list of rules: [\"cache-grows\", \"dtype-*\"]");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string entry = below(at, std::to_string(i));
      if (!value[i].is_string()) return wrong(entry, "a rule's name must be a string in quotation marks");
      if (absl::Status status = known_pattern(entry, value[i]); !status.ok()) return status;
      into.push_back(value[i]);
    }
    return absl::OkStatus();
  }

  absl::Status severities(const std::string& at, const Json& value, Settings& settings) const {
    if (!value.is_object())
      return wrong(at, "this must be an object of rules and severities: {\"cache-grows\": \"error\"}");
    for (const auto& [rule, level] : value.items()) {
      const std::string entry = below(at, rule);
      if (absl::Status status = known_rule(entry, rule); !status.ok()) return status;
      const std::string word = level.is_string() ? level.get<std::string>() : level.dump();
      if (!is_severity(word))
        return wrong(entry, absl::StrCat(word, " is not a severity", config::meant(word, kSeverities),
                                         " (error, warning, performance, info)"));
      settings.severity[rule] = word;
    }
    return absl::OkStatus();
  }

  absl::Status thresholds(const std::string& at, const Json& value, Settings& settings) const {
    if (!value.is_object()) return wrong(at, "this must be an object of rules: {\"cache-grows\": {\"entries\": 32}}");
    for (const auto& [rule, numbers] : value.items()) {
      const std::string entry = below(at, rule);
      if (absl::Status status = known_rule(entry, rule); !status.ok()) return status;
      if (!numbers.is_object()) return wrong(entry, "a rule's thresholds must be an object: {\"entries\": 32}");
      for (const auto& [name, number] : numbers.items()) {
        if (absl::Status status = threshold(below(entry, name), *find_rule(rule), name, number); !status.ok())
          return status;
        settings.thresholds[rule][name] = number;
      }
    }
    return absl::OkStatus();
  }

  absl::Status threshold(const std::string& at, const Rule& rule, const std::string& name, const Json& number) const {
    std::vector<std::string_view> names;
    for (const Threshold& threshold : rule.thresholds) names.push_back(threshold.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      return wrong(at, absl::StrCat(std::string(rule.name), " has no threshold \"", name, "\"",
                                    config::meant(name, names), " (", names_of(rule), ")"));
    if (!number.is_number() || !(number.get<double>() >= 0) || !std::isfinite(number.get<double>()))
      return wrong(at, "a threshold must be a number, 0 or more");
    return absl::OkStatus();
  }

  absl::Status step_share(const std::string& at, const Json& value, Settings& settings) const {
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1))
      return wrong(at, "this must be a share of a step, from 0 to 1: 0.005");
    settings.min_step_share = value;
    return absl::OkStatus();
  }

  absl::Status paths(const std::string& at, const Json& value, Settings& settings) const {
    if (!value.is_object()) return wrong(at, "this must be an object of paths and rules: {\"tests/*\": [\"dtype-*\"]}");
    for (const auto& [path, rules] : value.items()) {
      Settings::PathIgnore ignore{path, {}};
      if (path.empty()) return wrong(below(at, path), "a path is missing: \"tests/*\" means all files in there");
      if (absl::Status status = patterns(below(at, path), rules, ignore.rules); !status.ok()) return status;
      settings.per_path.push_back(std::move(ignore));
    }
    return absl::OkStatus();
  }

  const PlacedJson& json_;
};

}  // namespace

absl::StatusOr<Settings> parse_settings(const std::string& text, const std::string& file) {
  absl::StatusOr<PlacedJson> json = PlacedJson::parse(text, file);
  if (!json.ok()) return json.status();
  absl::StatusOr<Settings> settings = SettingsParser(*json).parse();
  if (settings.ok()) {
    std::error_code gone;  // the current folder is gone: only absolute paths are known then
    settings->file = file;
    settings->folder = fs::absolute(file, gone).lexically_normal().parent_path().string();
  }
  return settings;
}

static absl::StatusOr<Settings> settings_in(const absl::StatusOr<files::PlainFile>& opened, const std::string& file) {
  const absl::StatusOr<std::string> text = config::text_of(opened, file, "the settings");
  return text.ok() ? parse_settings(*text, file) : text.status();
}

absl::StatusOr<Settings> read_settings(const std::string& file) {
  return settings_in(files::PlainFile::open(file), file);
}

absl::StatusOr<Settings> nearest_settings(const std::string& folder, const std::string& home,
                                          std::vector<std::string>& passed_over) {
  std::error_code ignored;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    const fs::path file = at / "castscope.json";
    if (fs::exists(fs::symlink_status(file, ignored))) {
      const absl::StatusOr<files::PlainFile> opened = files::PlainFile::open(file.string());
      const auto stranger = files::stranger_who_owns(file.string(), opened.ok() ? &opened->info() : nullptr);
      if (!stranger) return settings_in(opened, file.string());
      passed_over.push_back(absl::StrCat(file.string(), " belongs to another user (", *stranger,
                                         ") and does not count; if it is meant, name it: --config ", file.string()));
    }
    const bool is_top = !at.has_relative_path();
    if (is_top || fs::exists(at / ".git", ignored) || at.string() == home) break;
  }
  return Settings();
}

}  // namespace castscope::rules
