// Reads castscope.json, in which people set what rules do (docs/castscope.schema.json; comments are allowed).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::rules {

// What is wrong with the text is a sentence that says where: FILE:LINE:COLUMN.
absl::StatusOr<Settings> parse_settings(const std::string& text, const std::string& file);
absl::StatusOr<Settings> read_settings(const std::string& file);

// The castscope.json of this folder or of the next one above that has any: up to the root of the repository (the folder
// that holds .git), the home folder, or the top. "" when there is none. What has that name and cannot be read, a folder
// or a link to nowhere, is found too: read_settings() tells of it.
std::string find_settings(const std::string& folder, const std::string& home);

}  // namespace castscope::rules
