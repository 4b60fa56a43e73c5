// A fingerprint identifies a finding from one run to the next: it is made of the rule, the file, the function and the
// text of the line, not of the line's number, so an edit above the line does not make the finding new. SARIF, baselines
// and diff use it.
#pragma once

#include <map>
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

// Does the same as the function in server/rules/evidence/places/places.h.
std::string portable_path(std::string_view file, std::string_view project);

// Strips blanks at both ends and turns several blanks into one. The result is UTF-8, and it is the same for a run file,
// which holds the bytes of the line, and for its report, which cannot.
std::string normalised(std::string_view source_line);

// Returns what of the line is part of an identity: its text, normalised, or its number where the text is not known.
std::string line_identity(const store::SourceLines& source, const store::CodeLocation& at);

// Makes fingerprints of identities. Those that are alike are counted in the order in which they come.
class CountedDigits {
 public:
  std::string of(std::string_view identity);

 private:
  std::map<std::string, int> seen_;  // by digits
};

}  // namespace castscope::report
