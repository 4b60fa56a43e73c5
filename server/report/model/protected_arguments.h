// Arguments that castscope.never_cast, castscope.force_fp32 or a policy protects: the dtypes in which they arrived, and
// what became of them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

struct ProtectedArgument {
  std::string function, argument;  // "RoIPool.forward", "rois"
  std::string by;                  // "float", "half", "promote": the annotation; "policy": a rule of the policy's
  std::uint8_t arrived = 0;        // c10::ScalarType
  bool kept = false;               // it is listed as an argument that is never cast
  std::uint8_t cast_to = 0xff;     // 0xff: it was not
  std::uint64_t times = 0;
  std::uint64_t held_off = 0;     // of these, how often it would have been cast without the protection
  store::CodeLocation called_at;  // the first call; no file where it is not known
};

// By function and argument.
std::vector<ProtectedArgument> protected_arguments(const store::RunData&);
// docs/report.schema.json, `protected_arguments`.
nlohmann::ordered_json protected_json(const store::RunData&);
// "never cast, 12 casts held off"
std::string fate_text(const ProtectedArgument&);
// "rois of RoIPool.forward arrived in bfloat16 12 times: never cast, 12 casts held off", the first few.
std::vector<std::string> protected_lines(const store::RunData&);

}  // namespace castscope::report
