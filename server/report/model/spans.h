// The spans of time in which castscope watched a process that people attach to and detach from (docs/attach.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

struct Span {
  std::int64_t begin_ns = 0, end_ns = 0;  // since the record of the process began
  std::uint32_t first_step = 0, last_step = 0;
};

// Those that are over, in order; the first 2,048 are told one by one.
std::vector<Span> spans_of(const store::Process& process);

// "" of a process that was watched from its beginning to its end.
std::string partly_watched(const store::Process& process);
// The same of all processes, in one sentence.
std::string partly_watched(const store::RunData& data);

}  // namespace castscope::report
