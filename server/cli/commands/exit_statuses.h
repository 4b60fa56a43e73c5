// What the exit statuses of each command mean, in one table: each --help shows its part of it, and
// docs/exit-statuses.md all of it.
#pragma once

#include <string>
#include <string_view>

namespace castscope::cli {

// "Exit status:" and a line for each status. `command` is as in "check" and "policy check".
std::string exit_statuses_of(std::string_view command);

}  // namespace castscope::cli
