// Reads castscope.json, in which people configure the rules (docs/castscope.schema.json; comments are allowed).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::rules {

// An error in the text comes as a sentence that says where: FILE:LINE:COLUMN.
absl::StatusOr<Settings> parse_settings(const std::string& text, const std::string& file);
absl::StatusOr<Settings> read_settings(const std::string& file);

// Finds the castscope.json of this folder or of the nearest one above that has any: up to the root of the repository
// (the folder that holds .git), the home folder, or the root. "" when there is none. It also finds something of that
// name that cannot be read, a folder or a link to nowhere: read_settings() then reports it.
std::string find_settings(const std::string& folder, const std::string& home);

}  // namespace castscope::rules
