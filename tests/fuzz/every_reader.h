// All that castscope makes of a run file that somebody gives it.
#pragma once

#include <string>

#include "tests/fuzz/bytes.h"

namespace castscope::fuzz {

// Reads the file in every way, and writes it in one of the forms of a report, which `bytes` chooses. What is refused
// has to be refused in a sentence; a form in JSON has to be JSON.
void read_in_every_way(const std::string& path, Bytes& bytes);

}  // namespace castscope::fuzz
