// What a finding is known by from one run to the next, so that an edit above it makes it no new one: its rule, file,
// function and the text of its line, not the number. SARIF, baselines and diff use it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

// One for each finding, in their order: 16 hexadecimal digits, a colon, and the how manieth of equals it is (from 1).
// The same on every machine and in every version of castscope, as long as the code is the same.
std::vector<std::string> fingerprints(std::span<const store::Finding> findings, const store::SourceLines& source,
                                      std::string_view project);

// As in server/rules/evidence/places/places.h.
std::string portable_path(std::string_view file, std::string_view project);

// Without blanks at both ends, and with one blank where there are several. UTF-8: the same of a run file, which holds
// the bytes of the line, and of its report, which cannot.
std::string normalised(std::string_view source_line);

}  // namespace castscope::report
