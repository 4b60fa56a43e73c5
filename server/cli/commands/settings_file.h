// Which castscope.json counts: the one that --config names, or the next one above the folder of the command.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::cli {

// The defaults where there is none. What is wrong with the file is an error.
absl::StatusOr<rules::Settings> settings_for(const std::string& config, const std::string& folder);
// From the folder that we are in, with the policy that runs are to be held against ("" = none but their own).
absl::StatusOr<rules::Settings> settings_here(const std::string& config, const std::string& policy = "");

// Reads the policy, by name or file; what is wrong with it is an error.
absl::Status hold_against(const std::string& policy, rules::Settings&);

// --config FILE
void add_config_option(CLI::App* command, std::string& config);
// --policy POLICY
void add_policy_option(CLI::App* command, std::string& policy);

}  // namespace castscope::cli
