// The body of every error of the viewer: problem details (RFC 9457).
#pragma once

#include <string>

#include "server/web/http/message.h"

namespace castscope::web {

inline constexpr char kProblemType[] = "application/problem+json";

// `detail` is a sentence about this request; `parameter` names the parameter that is wrong, "" = none is.
Response problem(int status, const std::string& detail, const std::string& parameter = "");

}  // namespace castscope::web
