// A fingerprint identifies a site from one run to the next, as that of a finding does (findings/fingerprint.h): it is
// made of what the cast is and of its line's text, and survives an edit above the line and another checkout.
#pragma once

#include <span>
#include <string>

#include "server/report/model/totals.h"

namespace castscope::report {

// Returns the fingerprint of each site of `sites`: 16 hexadecimal digits of the cause, the file, the function, the text
// of the line, the operator, the argument, both dtypes, the role and the phase; a colon; and a count (from 1) that
// tells sites with equal digits apart, in the order `by_code` (sites_by_code of code_order.h). Modules and regions are
// no part of it, so that a cast in modules that a loop makes keeps its digits. Other sites have "".
store::Table<std::string, store::Site> site_fingerprints(const store::RunData&, std::span<const SiteTotal> sites,
                                                         std::span<const std::size_t> by_code);

}  // namespace castscope::report
