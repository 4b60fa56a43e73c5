// A small run file with something in each of its tables: what the fuzzers of run files change.
#pragma once

#include <string>

namespace castscope::fuzz {

// Its bytes; pages of 512 bytes, so that it is small, and no log beside it.
const std::string& sample_file();
// The same of a run that was not finished: without the run's end, and so without checksums.
const std::string& unfinished_sample_file();

}  // namespace castscope::fuzz
