// Where things are, as SARIF has it: URIs relative to the checkout, regions, lines.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "server/store/run/run_data.h"

namespace castscope::report {

inline constexpr const char* kSarifRoot = "%SRCROOT%";  // the name that code scanning knows for the checkout

// "src/train.py" and true, or "/opt/lib/x.py" and false, percent-encoded: a URI relative to the project's folder or
// not.
std::pair<std::string, bool> uri_of(const std::string& project, const std::string& file);
std::string folder_uri(const std::string& folder);

// `source` has the line's text; null = it is not known.
nlohmann::ordered_json sarif_location(const std::string& project, const store::SourceLines* source,
                                      const store::CodeLocation& at);

// Code that was typed in, or that Python generated, has no file.
bool has_file(const std::optional<store::CodeLocation>& at);

// Code scanning refuses a result without a place: where the line is not known, the script that was run stands in.
// Returns nothing where there is no script: the interpreter is not a file of the checkout.
std::optional<store::CodeLocation> stand_in(const store::RunData& run);

}  // namespace castscope::report
