#include "server/cli/commands/settings_file.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "server/cli/commands/commands.h"
#include "server/cli/commands/input_file.h"
#include "server/policy/load.h"
#include "server/rules/castscope_json.h"

namespace castscope::cli {

absl::StatusOr<rules::Settings> settings_for(const std::string& config, const std::string& folder,
                                             std::vector<std::string>* passed_over) {
  if (!config.empty()) {
    auto settings = rules::read_settings(config);
    if (!settings.ok()) return about_input(config, settings.status());
    return settings;
  }
  const char* home = std::getenv("HOME");
  std::vector<std::string> unheard;
  return rules::nearest_settings(folder, home != nullptr ? home : "", passed_over != nullptr ? *passed_over : unheard);
}

absl::StatusOr<rules::Settings> settings_here(const std::string& config, const std::string& policy) {
  std::error_code error;  // a folder that is gone has no settings
  std::vector<std::string> passed_over;
  auto settings = settings_for(config, std::filesystem::current_path(error).string(), &passed_over);
  for (const std::string& sentence : passed_over) say(sentence);
  if (policy.empty() || !settings.ok()) return settings;
  if (absl::Status status = hold_against(policy, *settings); !status.ok()) return status;
  return settings;
}

absl::Status hold_against(const std::string& policy, rules::Settings& settings) {
  auto loaded = policy::load(policy);
  if (!loaded.ok()) return loaded.status();
  settings.policy = std::make_shared<const policy::Policy>(*std::move(loaded));
  return absl::OkStatus();
}

void add_policy_option(const Command& command, std::string& policy) {
  command
      .option("--policy POLICY", policy,
              "Check the run against this policy (docs/policies.md): where autocast deviated from it is a finding, "
              "policy-deviation")
      .given();
}

void add_config_option(const Command& command, std::string& config) {
  command
      .option("--config FILE", config,
              "The rules' settings file, instead of the castscope.json in this folder or the nearest one above")
      .given();
}

}  // namespace castscope::cli
