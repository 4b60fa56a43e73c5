// Finds what changed from one run to the next. Sites are aligned by their code, so an edit above a line makes nothing
// new.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "server/report/compare/account.h"
#include "server/report/compare/computed_in.h"

namespace castscope::report {

enum class Change {
  kNew,       // only in the second
  kGone,      // only in the first
  kMoved,     // casts from or to another dtype
  kCostlier,  // more casts or bytes a step, or clearly more time
  kCheaper,
  kElsewhere,  // the same casts at another place: a function, a file or the text of a line changed
};
std::string_view name(Change);  // "new", "gone", "moved", "costlier", "cheaper", "elsewhere"

struct SiteChange {
  Change change{};
  AccountSite before, after;   // counts of the whole runs; empty where the site is missing
  bool by_time_alone = false;  // casts and bytes are the same: a measurement, not a fact
  bool more_casts = false;     // it casts more often than before, a step
};

struct TotalChange {
  std::string_view name;  // as docs/names.json has it: "casts", "cache_hits", …
  std::uint64_t before = 0, after = 0;
};

struct MetricChange {
  AccountMetric before, after;
};

struct Difference {
  std::vector<TotalChange> totals;
  std::vector<SiteChange> sites;  // in the order of Change; each the costliest first
  std::vector<PrecisionChange> precision;
  std::vector<AccountPrecision> new_in_a_half;                      // of the second account
  std::vector<MetricChange> metrics;                                // that both runs have
  std::vector<std::size_t> new_findings;                            // of the second account
  std::vector<std::size_t> fixed_findings;                          // of the first
  std::vector<std::pair<std::size_t, std::size_t>> moved_findings;  // Comparable::moved
  // Findings of the second at code that the first did not look at, and the other way round: nobody knows whether they
  // are new, or fixed.
  std::vector<std::size_t> unseen_before, unseen_after;
  // Why the two runs cannot be compared for sure: in one of them nothing was observed, it was not seen whole, or its
  // job failed; or one did not look where the other found something. Whole sentences.
  std::vector<std::string> doubts;
  // The runs differ in length, so sites are compared by what one step does.
  bool per_step = false;
  // Returns true if the runs differ in findings, casts or dtypes. Times, metrics and moved places do not count.
  bool any() const;
};

// The kinds of differences that `castscope diff --fail-on` names.
enum class Fault : std::uint8_t {
  kNewFindings,
  kNewCasts,  // casts at new places, or more of them a step
  kDtypes,    // casts to another dtype, or operators that compute in another
  kAny,       // anything but times and places
};
std::string_view name(Fault);  // "new-findings", "new-casts", "dtypes", "any"
bool has(const Difference&, Fault);

Difference difference_of(const Account& before, const Account& after);
std::string difference_text(const Account& before, const Account& after, const Difference&, int width);
nlohmann::ordered_json difference_json(const Account& before, const Account& after, const Difference&);

}  // namespace castscope::report
