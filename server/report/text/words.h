// The words for numbers and places in reports for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"
#include "server/utf8/utf8.h"

namespace castscope::report {

std::string grouped(std::uint64_t number);                                               // "1,234,567"
std::string counted(std::uint64_t number, std::string_view one, std::string_view many);  // "1 cast", "1,234 casts"
std::string listed(const std::vector<std::string>& words);                               // "a, b and c"
std::string duration(std::uint64_t ns);  // "12 µs", "3.1 ms", "1.20 s", "<1 µs"
std::string real(double number);         // "0.1183", "65,536", "NaN"
std::string percent(double share);       // 0.06 → "6 %", "<1 %"
// Returns a line of source as it is shown: UTF-8, tabs as spaces, without anything that a terminal or a page would
// obey.
std::string shown_source(std::string_view line);
// Makes a text safe to show in terminals and pages, which would obey control characters.
using utf8::on_one_line;
// Does the same, but shows which characters there are: "\x1b", "\n". Characters in `kept` stay.
std::string without_controls(std::string_view text, std::string_view kept = "");

// Returns rules::place_text, "models/net.py:12"; "no Python line" without one.
std::string place(const store::RunData&, const std::optional<store::CodeLocation>&);
// Returns the name of the operator's argument, or else its position, "2"; "" when it is not known.
std::string argument_of(const store::RunData&, store::CallSiteId);
// Returns the same for a sentence: "weight", or else "argument 2".
std::string argument_words(const store::RunData&, const store::Site&);
// Returns "linear" for aten::linear; the cause where no operator is known.
std::string operator_of(const store::Site&);
std::string utc(std::int64_t ns);                 // 2026-11-18T11:06:40.000Z
std::string command_line(const store::RunData&);  // words joined, those with spaces quoted
// Says in one line what fixing a finding would save; "" when nothing was measured.
std::string savings_text(const std::optional<store::Savings>&, std::uint64_t steps);

}  // namespace castscope::report
