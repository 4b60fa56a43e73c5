// A fingerprint identifies a finding from one run to the next: it is made of the rule, the file, the function and the
// text of the line, not of the line's number, so an edit above the line does not make the finding new. SARIF, baselines
// and diff use it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

// Returns one fingerprint for each finding, in their order: 16 hexadecimal digits, a colon, and a count (from 1) that
// tells findings with equal digits apart. It is the same on every machine and in every version of castscope, as long as
// the code is the same.
std::vector<std::string> fingerprints(std::span<const store::Finding> findings, const store::SourceLines& source,
                                      std::string_view project);

// Returns one fingerprint for each site, in their order, likewise made of what the code says: cause, file, function,
// the text of the line, operator, argument, both dtypes, role and phase. Sites that differ in module, region or stack
// alone are told apart by the count.
std::vector<std::string> site_fingerprints(const store::RunData&, std::span<const store::SiteId> sites);

// Does the same as the function in server/rules/evidence/places/places.h.
std::string portable_path(std::string_view file, std::string_view project);

// Strips blanks at both ends and turns several blanks into one. The result is UTF-8, and it is the same for a run file,
// which holds the bytes of the line, and for its report, which cannot.
std::string normalised(std::string_view source_line);

}  // namespace castscope::report
