// Comparisons that the job made itself (castscope.compare): the dtype that each operator computed in, by mode. The
// job's Python reports them as text, `castscope-comparison-table/3` of docs/decisions/comparison.md; a text in any
// other form is left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

inline constexpr char kComparisonAttribute[] = "comparison";

struct ComparedMode {
  std::string mode;
  std::string error;  // why the mode failed; "" where it ran
  store::CodeLocation error_at;
  std::uint64_t same = 0, differences = 0, followers = 0, not_comparable = 0;
  bool same_values = true;            // within the tolerances
  std::optional<double> max_error{};  // of any output; none if not finite, or if nothing was compared
};
struct ComparedCell {
  std::string computed;  // "bfloat16", "bfloat16,float32→float32"; "" where the mode has no such operator
  std::string verdict;   // reference, same, cause, follower, alone
  std::string reason;
};
struct ComparedRow {
  std::string op, module;
  store::CodeLocation location;     // no file where it is not known
  std::vector<ComparedCell> cells;  // first of eager, then in the order of `modes`
  bool differs() const;
};
struct Comparison {
  std::string name;
  bool same_precision = false;
  std::vector<ComparedMode> modes;  // beside eager
  std::vector<ComparedRow> rows;
  std::uint64_t rows_left_out = 0;
};

std::vector<Comparison> comparisons(const store::RunData&);
// docs/report.schema.json, `comparisons`.
nlohmann::ordered_json comparisons_json(const store::RunData&);

}  // namespace castscope::report
