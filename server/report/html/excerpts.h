// The lines of source around the places of a finding.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/report/text/html_writer.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct Excerpt {
  std::string file;
  std::int64_t first = 0, last = 0;  // lines
  std::set<std::int64_t> marked;
  std::string places;  // "train.py:12, 14"
  bool kept = false;   // the run file has the source
};

// One for each place, in their order; excerpts that touch are one, which stands at the place of the first.
std::vector<Excerpt> excerpts_of(const store::RunData&, const std::vector<store::CodeLocation>& places);
void write_excerpt(Html&, const store::RunData&, const Excerpt&);

}  // namespace castscope::report
