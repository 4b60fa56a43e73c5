// The words of the page for what reports for programs name by identifiers, and for times that nobody measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/report/text/html_writer.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// Writes text in which `code` stands between backticks.
void write_with_code(Html&, std::string_view text);

// Writes an entry of a legend, in the colour that the class has in the style sheet.
void write_swatch(Html&, const std::string& look, const std::string& text);

// "12 µs"; "not timed" of casts that were not, as those in compiled graphs; "" where nothing was cast.
std::string time_of_casts(const store::Counts&);
// The same of a part of such a time: "–" where the casts were timed and this part has none.
std::string part_of_time(std::uint64_t ns, const store::Counts&);

// "explicit to()", "type promotion"
std::string_view cause_words(lanes::Cause);
// Replaces the identifiers in a list, "not_leaf, view", by words.
std::string reasons_in_words(std::string_view identifiers);

// "linear weight"; of a gradient's cast "ToCopyBackward0, gradient of linear weight, train.py:12": the line that calls
// backward() casts many.
std::string operator_words(const store::RunData&, const store::Site&);

// How the stack of a row goes on, frame by frame, for rows that look alike (Table::Row::telling).
std::vector<std::string> telling_of_stack(const store::RunData&, store::StackId);

}  // namespace castscope::report
