#include "server/cli/settings_file.h"

#include <cstdlib>
#include <filesystem>

#include "server/cli/commands.h"
#include "server/rules/castscope_json.h"

namespace castscope::cli {

absl::StatusOr<rules::Settings> settings_for(const std::string& config, const std::string& folder) {
  if (!config.empty()) return rules::read_settings(config);
  const char* home = std::getenv("HOME");
  const std::string found = rules::find_settings(folder, home != nullptr ? home : "");
  return found.empty() ? rules::Settings() : rules::read_settings(found);
}

absl::StatusOr<rules::Settings> settings_here(const std::string& config) {
  std::error_code error;  // a folder that is gone has no settings
  return settings_for(config, std::filesystem::current_path(error).string());
}

void add_config_option(CLI::App* command, std::string& config) {
  command
      ->add_option("--config", config,
                   "Settings of the rules, instead of the castscope.json in this folder or the next one above")
      ->check(is_given());
}

}  // namespace castscope::cli
