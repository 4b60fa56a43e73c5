#include "server/cli/job/variable_forms.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace castscope::cli {
namespace {

std::string shell_quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"'", "'\\''"}}), "'");
}

// YAML takes the texts of JSON.
std::string quoted(const std::string& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status cannot_hold(const std::string& what, const std::string& who, const std::string& way_out) {
  return absl::InvalidArgumentError(absl::StrCat(who, " would split or change ", what, way_out));
}

// Words that a shell splits at blanks and leaves alone otherwise.
absl::StatusOr<std::string> as_words(const std::vector<std::string>& words, const std::string& way_out) {
  std::string text;
  for (const std::string& word : words) {
    if (word.find_first_of(" \t\n*?[") != std::string::npos) return cannot_hold(word, "a shell", way_out);
    absl::StrAppend(&text, word, "\n");
  }
  return text;
}

std::string bind_of(const Mount& mount) {
  return absl::StrCat(mount.here, ":", mount.there, mount.writable ? "" : ":ro");
}

std::vector<std::string> plain(const Variables& variables, const std::string& before = "") {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(absl::StrCat(before, name, "=", value));
  return words;
}

std::string exports(const Variables& variables, const std::string& prefix) {
  std::string text;
  for (const auto& [name, value] : variables)
    absl::StrAppend(&text, "export ", prefix, name, "=", shell_quoted(value), "\n");
  return text;
}

// Both separate the parts of a mount by colons.
absl::Status check_mounts(const std::vector<Mount>& mounts) {
  for (const Mount& mount : mounts)
    if (absl::StrContains(absl::StrCat(mount.here, mount.there), ":") || absl::StrContains(mount.here, ","))
      return cannot_hold(mount.here, "the mount", ": choose a folder without colon and comma");
  return absl::OkStatus();
}

absl::StatusOr<std::string> docker(const Variables& variables, const std::vector<Mount>& mounts) {
  std::vector<std::string> words;
  for (const Mount& mount : mounts) words.push_back(absl::StrCat("--volume=", bind_of(mount)));
  for (std::string& word : plain(variables, "--env=")) words.push_back(std::move(word));
  return as_words(words, ", which cannot be quoted here: choose a folder without blanks");
}

std::string apptainer(const Variables& variables, const std::vector<Mount>& mounts) {
  std::string binds;
  for (const Mount& mount : mounts) absl::StrAppend(&binds, binds.empty() ? "" : ",", bind_of(mount));
  return absl::StrCat(exports({{"APPTAINER_BIND", binds}}, ""), exports(variables, "APPTAINERENV_"));
}

std::string kubernetes(const Variables& variables, const std::vector<Mount>& mounts) {
  std::string text = "# In the container:\nenv:\n",
              volumes = "# In the pod's spec; each node must have these paths:\nvolumes:\n";
  for (const auto& [name, value] : variables)
    absl::StrAppend(&text, "- name: ", name, "\n  value: ", quoted(value), "\n");
  absl::StrAppend(&text, "volumeMounts:\n");
  for (std::size_t i = 0; i < mounts.size(); i++) {
    const std::string name = absl::StrCat("castscope-", i + 1);
    absl::StrAppend(&text, "- name: ", name, "\n  mountPath: ", quoted(mounts[i].there), "\n",
                    mounts[i].writable ? "" : "  readOnly: true\n");
    absl::StrAppend(&volumes, "- name: ", name, "\n  hostPath:\n    path: ", quoted(mounts[i].here), "\n");
  }
  return absl::StrCat(text, volumes);
}

absl::StatusOr<std::string> slurm(const Variables& variables) {
  std::string word = "--export=ALL";
  for (const auto& [name, value] : variables) {
    if (absl::StrContains(value, ",") || absl::StrContains(value, "'"))
      return cannot_hold(absl::StrCat(name, "=", value), "--export",
                         ": choose names without comma, or use `eval \"$(castscope env)\"` in the script");
    absl::StrAppend(&word, ",", name, "=", value);
  }
  return as_words({word}, ": use `eval \"$(castscope env)\"` in the script");
}

std::string ray(const Variables& variables) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const auto& [name, value] : variables) all[name] = value;
  return nlohmann::ordered_json{{"env_vars", all}}.dump(-1, ' ', false,
                                                        nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

bool is_in(const std::string& path, const std::string& folder) {
  return path == folder || absl::StartsWith(path, absl::StrCat(folder, "/"));
}

// The first part of a list divided by colons that is castscope's; "" = there is none.
std::string ours(const std::string& list, const std::string& end) {
  for (absl::string_view part : absl::StrSplit(list, ':'))
    if (absl::EndsWith(part, end)) return std::string(part);
  return "";
}

void add_mount(std::vector<Mount>& mounts, const std::string& path) {
  const bool is_there = std::ranges::any_of(mounts, [&](const Mount& mount) { return is_in(path, mount.there); });
  if (!path.empty() && !is_there) mounts.push_back({.here = path, .there = path});
}

}  // namespace

bool is_of_container(VariableForm form) {
  return form == VariableForm::kDocker || form == VariableForm::kApptainer || form == VariableForm::kKubernetes;
}

absl::StatusOr<std::string> in_form(VariableForm form, const Variables& variables, const std::vector<Mount>& mounts) {
  if (const absl::Status status = check_mounts(mounts); !status.ok()) return status;
  switch (form) {
    case VariableForm::kShell:
      break;
    case VariableForm::kPlain:
      return as_words(plain(variables), ", which --plain does not quote: leave --plain out, and use `eval`");
    case VariableForm::kDocker:
      return docker(variables, mounts);
    case VariableForm::kApptainer:
      return apptainer(variables, mounts);
    case VariableForm::kKubernetes:
      return kubernetes(variables, mounts);
    case VariableForm::kSlurm:
      return slurm(variables);
    case VariableForm::kRay:
      return ray(variables);
  }
  return exports(variables, "");
}

ForContainer for_container(const Variables& variables, const std::string& cache_folder, const std::string& program,
                           const std::string& output_folder) {
  ForContainer result;
  std::vector<Mount>& mounts = result.mounts;
  mounts.push_back({.here = program, .there = kProgramInContainer});
  if (!output_folder.empty()) mounts.push_back({.here = output_folder, .there = output_folder, .writable = true});
  add_mount(mounts, cache_folder);
  for (const auto& [name, given] : variables) {
    std::string value = given;
    if (name == "CASTSCOPE_BIN") value = kProgramInContainer;
    if (name == "LD_PRELOAD") value = ours(given, "/libcastscope.so");
    if (name == "PYTHONPATH") value = ours(given, "/agent/python/lending");
    const bool is_file =
        name == "LD_PRELOAD" || name == "CASTSCOPE_ENFORCE" || name == "CASTSCOPE_TOKEN_FILE" || name == "CASTSCOPE_CA";
    if (is_file) add_mount(mounts, value);
    if (name == "PYTHONPATH") add_mount(mounts, value.substr(0, value.rfind('/')));  // with the package beside it
    if (name == "CASTSCOPE_AGENTS")
      for (absl::string_view folder : absl::StrSplit(value, ':', absl::SkipEmpty()))
        add_mount(mounts, std::string(folder));
    result.variables.emplace_back(name, value);
  }
  return result;
}

}  // namespace castscope::cli
