// Keeps what rules found in the findings table, and the fingerprints of findings and sites: for whoever reads a run
// file by SQL, and for a run that is looked at while it goes on. Reports judge anew.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/fingerprints.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

absl::Status write_findings(Database&, std::span<const Finding>);  // instead of those before

// Fingerprints are made of the source text, which is read when the run has ended, so they come last.
absl::Status write_fingerprints(Database&, const Fingerprints&);

}  // namespace castscope::store
