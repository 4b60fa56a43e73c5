// How commands end that cannot do what they are asked for.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/cli/commands/commands.h"
#include "server/report/text/words.h"

namespace castscope::cli {

// Says why, on one line. Returns the exit status.
inline int fail(const std::string& sentence, int exit_status) {
  say(report::without_controls(sentence));
  return exit_status;
}
inline int fail(const absl::Status& status, int exit_status) {
  return fail(std::string(status.message()), exit_status);
}

}  // namespace castscope::cli
