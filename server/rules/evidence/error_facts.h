// Finds errors that steps saw being raised, decides which of them are about dtypes, and which rule reports each.
//
// PyTorch has no error type of its own for dtypes, so the texts decide, together with the operator that was running
// where that is known (deep steps).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/rules/evidence/finding.h"

namespace castscope::rules {

enum class ErrorTopic : std::uint8_t {
  kOther,
  kMismatch,     // arguments of different dtypes, a half among them
  kNotListed,    // the same for an operator that autocast does not know, in a region
  kNoKernel,     // the operator has no kernel for the low precision that it got
  kMixedHalves,  // float16 and bfloat16 for an operator that takes the widest
  kBanned,       // autocast refuses the operator
  kElsewhere,    // another rule knows the cause: the operator's form, an old copy from the cache, FSDP
};
ErrorTopic topic_of(const store::RunData&, const store::Fact& error);

// The errors of one topic at one line of the user's.
struct ErrorAt {
  store::StackId stack = {};
  store::OperatorUseId use = {};  // the operator use that raised it, 0 = not known
  std::uint64_t times = 0;
  std::string text;  // the text of the first one
};
std::vector<ErrorAt> errors_about(const store::RunData&, ErrorTopic);
// Returns errors whose text contains `part`, in the processes that `counts` accepts.
std::vector<ErrorAt> errors_saying(
    const store::RunData&, std::string_view part,
    const std::function<bool(store::ProcessId process)>& counts = [](store::ProcessId) { return true; });

// Returns "cat"; "an operator" where it is not known.
std::string operator_of(const store::RunData&, const ErrorAt&);

// Adds how often the error was raised, its text, and where it is known the operator, its arguments and the region in
// force.
void add_error_evidence(const store::RunData&, const ErrorAt&, Finding&);

// Returns the c10::ScalarType of the floating dtypes that a text names, in C++ or Python words.
std::set<std::uint8_t> dtypes_named(std::string_view text);
// The operator's floating arguments include a half and another dtype.
bool mixes_halves(const store::OperatorUse&);
// Returns "float32 weight, bfloat16 activation".
std::string words_of(const std::vector<lanes::Operand>&);

}  // namespace castscope::rules
