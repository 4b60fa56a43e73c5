// The gate of `castscope check`: does a run have what it must not have?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "server/report/compare/account.h"

namespace castscope::report {

struct Gate {
  std::string fail_on = "warning";       // findings of this severity or a graver one
  std::optional<double> max_cast_share;  // of the steps' time, 0 … 1
  std::optional<std::uint64_t> max_cache_bytes;
  bool allow_incomplete = false;
  // Rules that could not judge all of the run, or of the baseline's run, make it inconclusive, and so do findings that
  // nobody can call new or known.
  bool require_deep = false;
};

struct Limit {
  std::string_view option;  // "--max-cast-share"
  double most = 0;
  std::optional<double> value;  // nothing: it is not known
  bool exceeded() const { return value && *value > most; }
};

enum class Outcome { kClean = 0, kFindings = 1, kIncomplete = 3 };  // exit statuses of `castscope check`

// Indices are those of Account::findings.
struct Verdict {
  Outcome outcome = Outcome::kClean;
  std::vector<std::size_t> failing, below;       // below: of lower severity than `fail_on`
  std::vector<std::size_t> known;                // in the baseline
  std::size_t moved = 0;                         // so many of them stood at another place there (Comparable::moved)
  std::vector<std::size_t> unseen_before;        // not in the baseline, whose run may have missed them
  std::vector<std::size_t> gone;                 // of the baseline's findings: not there any more
  std::vector<std::size_t> unseen_now;           // of the baseline's findings: this run may have missed them
  std::vector<Limit> limits;                     // the limits that the gate sets
  std::vector<std::string> incomplete;           // why the result is uncertain
  std::optional<std::string> by_number;          // Comparable::sentence()
  std::vector<std::string> baseline_incomplete;  // why the baseline may lack findings
};

// A finding counts however incomplete the data are; a finding that is missing may be missing because data are. A file
// that is damaged or cut short gets no verdict.
Verdict examine(const Account&, const Gate&, const Account* baseline = nullptr);

struct VerdictNames {         // for sentences
  std::string settings_file;  // "" = none
  int width = 80;
};
std::string verdict_text(const Account&, const Gate&, const Verdict&, const Account* baseline, const VerdictNames&);
nlohmann::ordered_json verdict_json(const Account&, const Gate&, const Verdict&, const Account* baseline);

}  // namespace castscope::report
