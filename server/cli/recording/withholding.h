// What a run withholds: texts that match the user's patterns, and lines of source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/redaction/redaction.h"

namespace castscope::cli {

struct Withholding {
  std::vector<std::string> patterns = {};  // regular expressions of RE2: what matches one is redacted
  bool no_source = false;                  // no line of source is read
  bool any() const { return no_source || !patterns.empty(); }
};

// Adds what CASTSCOPE_REDACT and CASTSCOPE_NO_SOURCE say. The patterns become one, or none. Fails on the first that is
// no pattern.
absl::Status complete(Withholding& withholding);

// The one pattern; "" = there is none.
std::string pattern_of(const Withholding& withholding);

// What the two variables say, unchecked: for a run without anybody who could hear that a pattern is none.
Withholding withheld_by_environment();

// For a run that was told this pattern. With one that is no pattern, every text of the run is redacted.
std::shared_ptr<redaction::Redaction> redaction_of(const std::string& pattern, bool no_source = false);

// Whether a run with this pattern can say nothing else than that.
bool hides_everything(const std::string& pattern);

}  // namespace castscope::cli
