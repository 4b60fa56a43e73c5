// The sites of a run as CSV (RFC 4180), for spreadsheets and data frames.
#pragma once

#include <string>
#include <string_view>

#include "server/report/model.h"

namespace castscope::report {

std::string csv_text(const Model&);  // a header, then a line a site, costliest first; lines end with CR LF

// A field as it stands in the file: quoted where it must be. A text that a spreadsheet would take for a formula gets an
// apostrophe in front.
std::string csv_field(std::string_view text);

}  // namespace castscope::report
