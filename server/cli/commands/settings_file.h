// Finds the castscope.json that counts: the one that --config names, or the nearest one at or above the folder of the
// command.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/command_line/command_line.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::cli {

// Returns the defaults where there is no file. A wrong file is an error. `passed_over` gets a sentence about each file
// that does not count, since it is somebody else's; null = there is nobody to tell.
absl::StatusOr<rules::Settings> settings_for(const std::string& config, const std::string& folder,
                                             std::vector<std::string>* passed_over = nullptr);
// Searches from the working folder, and says on standard error what does not count. `policy` is the policy that runs
// are compared with ("" = only their own).
absl::StatusOr<rules::Settings> settings_here(const std::string& config, const std::string& policy = "");

// Reads the policy, by name or file; a wrong policy is an error.
absl::Status hold_against(const std::string& policy, rules::Settings&);

// --config FILE
void add_config_option(const Command& command, std::string& config);
// --policy POLICY
void add_policy_option(const Command& command, std::string& policy);

}  // namespace castscope::cli
