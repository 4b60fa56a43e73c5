// How reports for people say numbers and places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

std::string grouped(std::uint64_t number);                                               // "1,234,567"
std::string counted(std::uint64_t number, std::string_view one, std::string_view many);  // "1 cast", "1,234 casts"
std::string listed(const std::vector<std::string>& words);                               // "a, b and c"
std::string duration(std::uint64_t ns);                                                  // "12 µs", "3.1 ms", "1.20 s"
std::string percent(double share);                                                       // 0.06 → "6 %", "<1 %"
// A line of source as it is shown: UTF-8, tabs as spaces, nothing that a terminal or a page would obey.
std::string shown_source(std::string_view line);
// Shown in terminals and pages: anything below a space would be obeyed there.
std::string on_one_line(std::string text);
// The same where it must be told what there is: "\x1b", "\n". What is in `kept` stays.
std::string without_controls(std::string_view text, std::string_view kept = "");

// Relative to the run's folder, or to the packages' folder, when it lies in one.
std::string short_path(const store::RunData&, const std::string& file);
// "train.py:12"; "no Python line" without one.
std::string place(const store::RunData&, const std::optional<store::CodeLocation>&);
// Name of the operator's argument, else "argument 2", "" when not known.
std::string argument_of(const store::RunData&, const store::Site&);
// "linear" for aten::linear; the cause where no operator is known.
std::string operator_of(const store::Site&);
std::string utc(std::int64_t ns);                 // 2026-11-18T11:06:40.000Z
std::string command_line(const store::RunData&);  // words joined, those with spaces quoted
// What mending a finding would save, as one line; "" when nothing was measured.
std::string savings_text(const std::optional<store::Savings>&, std::uint64_t steps);

}  // namespace castscope::report
