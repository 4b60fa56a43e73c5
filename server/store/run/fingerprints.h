// The fingerprints of a run's sites and findings, as the run file keeps them.
#pragma once

#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::store {

struct Fingerprints {
  Table<std::string, Site> sites;     // "" = none
  std::vector<std::string> findings;  // in the order in which the findings were written
};

}  // namespace castscope::store
