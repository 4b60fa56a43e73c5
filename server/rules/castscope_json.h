// Reads castscope.json, in which people configure the rules (docs/castscope.schema.json; comments are allowed).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::rules {

// An error in the text comes as a sentence that says where: FILE:LINE:COLUMN.
absl::StatusOr<Settings> parse_settings(const std::string& text, const std::string& file);
absl::StatusOr<Settings> read_settings(const std::string& file);

// Reads the castscope.json of this folder or of the nearest one above that has any: up to the root of the repository
// (the folder that holds .git), the home folder, or the root. The defaults where there is none. Something of that name
// that cannot be read, a folder or a link to nowhere, is an error. A file of somebody else's (server/files/owner.h)
// does not count: `passed_over` gets a sentence about it, and the next one above is looked for.
absl::StatusOr<Settings> nearest_settings(const std::string& folder, const std::string& home,
                                          std::vector<std::string>& passed_over);

}  // namespace castscope::rules
