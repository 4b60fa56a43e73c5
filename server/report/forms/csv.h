// The sites of a run, and its layers, as CSV (RFC 4180), for spreadsheets and data frames.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "server/report/model/model.h"

namespace castscope::report {

std::string csv_text(const Model&);  // a header, then a line a site, costliest first; lines end with CR LF

// Writes the dtypes that operators were given, computed in and returned in deep steps: one line for each argument, in
// the order of first calls.
std::string layers_csv_text(const Model&);

void add_csv_line(std::string& text, std::initializer_list<std::string> fields);
// Returns a field as it stands in the file: quoted where necessary. A text that a spreadsheet would take for a formula
// gets an apostrophe in front, and control characters become question marks.
std::string csv_field(std::string_view text);

}  // namespace castscope::report
