// What changed from one run to the next, aligned by code: an edit above a line makes nothing new.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "server/report/compare/account.h"

namespace castscope::report {

enum class Change {
  kNew,       // only in the second
  kGone,      // only in the first
  kMoved,     // casts from or to another dtype
  kCostlier,  // more casts or bytes a step, or clearly more time
  kCheaper,
};
std::string_view name(Change);  // "new", "gone", "moved", "costlier", "cheaper"

struct SiteChange {
  Change change{};
  AccountSite before, after;   // counts of the whole runs; empty of what is not there
  bool by_time_alone = false;  // casts and bytes are the same: a measurement, not a fact
};

struct TotalChange {
  std::string_view name;  // "casts", "cache hits", …
  std::uint64_t before = 0, after = 0;
};

// The same operator of the same model, in another dtype: a trainer and an inference engine that differ.
struct PrecisionChange {
  AccountPrecision before, after;  // of each the first in the account's order
};

struct Difference {
  std::vector<TotalChange> totals;
  std::vector<SiteChange> sites;  // new, gone, moved, costlier, cheaper; each the costliest first
  std::vector<PrecisionChange> precision;
  std::vector<std::size_t> new_findings;    // of the second account
  std::vector<std::size_t> fixed_findings;  // of the first
  // Why the two cannot be held against each other for sure: a run in which nothing was observed, that was not seen
  // whole, or whose job failed. Sentences.
  std::vector<std::string> doubts;
  // Runs of different length: sites are compared by what one step does.
  bool per_step = false;
  // Whether anything but times differs.
  bool any() const;
};

Difference difference_of(const Account& before, const Account& after);
std::string difference_text(const Account& before, const Account& after, const Difference&, int width);
nlohmann::ordered_json difference_json(const Account& before, const Account& after, const Difference&);

}  // namespace castscope::report
