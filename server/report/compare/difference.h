// Finds what changed from one run to the next. Sites are aligned by their code, so an edit above a line makes nothing
// new.
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
  AccountSite before, after;   // counts of the whole runs; empty where the site is missing
  bool by_time_alone = false;  // casts and bytes are the same: a measurement, not a fact
};

struct TotalChange {
  std::string_view name;  // as docs/names.json has it: "casts", "cache_hits", …
  std::uint64_t before = 0, after = 0;
};

// The same operator of the same model computed in another dtype, as when a trainer and an inference engine differ.
struct PrecisionChange {
  AccountPrecision before, after;  // in each run the first one in the account's order
};

struct Difference {
  std::vector<TotalChange> totals;
  std::vector<SiteChange> sites;  // new, gone, moved, costlier, cheaper; each the costliest first
  std::vector<PrecisionChange> precision;
  std::vector<std::size_t> new_findings;    // of the second account
  std::vector<std::size_t> fixed_findings;  // of the first
  // Findings of the second at code that the first did not look at, and the other way round: nobody knows whether they
  // are new, or fixed.
  std::vector<std::size_t> unseen_before, unseen_after;
  // Why the two runs cannot be compared for sure: in one of them nothing was observed, it was not seen whole, or its
  // job failed; or one did not look where the other found something. Whole sentences.
  std::vector<std::string> doubts;
  // The runs differ in length, so sites are compared by what one step does.
  bool per_step = false;
  // Whether anything but times differs.
  bool any() const;
};

Difference difference_of(const Account& before, const Account& after);
std::string difference_text(const Account& before, const Account& after, const Difference&, int width);
nlohmann::ordered_json difference_json(const Account& before, const Account& after, const Difference&);

}  // namespace castscope::report
