#include "server/report/compare/difference.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "server/report/compare/comparable.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

// Two sites are one place when all of these are equal. The number counts equal lines within a function, for code that
// says `x = f(x)` twice.
using Place = std::tuple<std::string, std::string, std::string, int, std::string, std::string, std::string>;
using Dtypes = std::pair<std::string, std::string>;  // from, to
using Places = std::map<Place, std::map<Dtypes, AccountSite>>;

Places places_of(const Account& account) {
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::int64_t>> lines;
  for (const AccountSite& site : account.sites) lines[{site.file, site.function, site.text}].insert(site.line);
  Places places;
  for (const AccountSite& site : account.sites) {
    const std::set<std::int64_t>& equal = lines[{site.file, site.function, site.text}];
    const auto nth = static_cast<int>(std::distance(equal.begin(), equal.find(site.line)));
    auto& of_place = places[{site.file, site.function, site.text, nth, site.op, site.argument, site.phase}];
    const auto [it, is_new] = of_place.try_emplace({site.from, site.to}, site);
    if (is_new) continue;
    it->second.casts += site.casts;
    it->second.hits += site.hits;
    it->second.bytes += site.bytes;
    it->second.cpu_ns += site.cpu_ns;
  }
  return places;
}

class Comparison {
 public:
  Comparison(const Account& before, const Account& after)
      : before_steps_(before.steps),
        after_steps_(after.steps),
        all_ns_per_step_(std::max(per_step(before.cpu_ns, before.steps), per_step(after.cpu_ns, after.steps))) {}

  bool differ_in_length() const { return before_steps_ != after_steps_; }

  void compare(std::map<Dtypes, AccountSite> before, std::map<Dtypes, AccountSite> after) {
    for (auto it = before.begin(); it != before.end();) {
      const auto same = after.find(it->first);
      if (same == after.end()) {
        ++it;
        continue;
      }
      compare_costs(it->second, same->second);
      after.erase(same);
      it = before.erase(it);
    }
    // The dtypes that are left on both sides are paired: they were replaced by one another.
    while (!before.empty() && !after.empty()) {
      changes.push_back({Change::kMoved, before.begin()->second, after.begin()->second});
      before.erase(before.begin());
      after.erase(after.begin());
    }
    for (const auto& [dtypes, site] : before) changes.push_back({Change::kGone, site, {}});
    for (const auto& [dtypes, site] : after) changes.push_back({Change::kNew, {}, site});
  }

  // The same place under another name.
  void compare_moved(const AccountSite& before, const AccountSite& after) {
    const std::size_t known = changes.size();
    compare_costs(before, after);
    if (changes.size() > known && !changes.back().by_time_alone) return;
    changes.resize(known);
    changes.push_back({Change::kElsewhere, before, after});
  }

  std::vector<SiteChange> changes;

 private:
  static double per_step(std::uint64_t count, std::uint64_t steps) {
    return static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(steps, 1));
  }
  // The result is symmetric: whichever run of a pair comes first, one is costlier by as much as the other is cheaper.
  static int compare_by(double ratio, double before, double after) {
    return after > ratio * before ? 1 : before > ratio * after ? -1 : 0;
  }
  // The counts of a steady loop differ between runs of different length by what the first and the last step do.
  int compare_counts(std::uint64_t before, std::uint64_t after) const {
    if (!differ_in_length()) return before < after ? 1 : before > after ? -1 : 0;
    constexpr double kATenthMore = 1.1;
    return compare_by(kATenthMore, per_step(before, before_steps_), per_step(after, after_steps_));
  }
  // Times are noisy: a site is reported only if it matters (a hundredth of all time, in the costlier run) and its time
  // changed by half.
  int compare_times(std::uint64_t before, std::uint64_t after) const {
    const double a = per_step(before, before_steps_), b = per_step(after, after_steps_);
    if (std::max(a, b) < all_ns_per_step_ / 100) return 0;
    constexpr double kHalfMore = 1.5;
    return compare_by(kHalfMore, a, b);
  }
  void compare_costs(const AccountSite& before, const AccountSite& after) {
    int way = compare_counts(before.casts, after.casts);
    const bool more_casts = way > 0;
    if (way == 0) way = compare_counts(before.bytes, after.bytes);
    const bool by_time_alone = way == 0;
    if (way == 0) way = compare_times(before.cpu_ns, after.cpu_ns);
    if (way != 0)
      changes.push_back({way > 0 ? Change::kCostlier : Change::kCheaper, before, after, by_time_alone, more_casts});
  }

  const std::uint64_t before_steps_, after_steps_;
  const double all_ns_per_step_;
};

// Casts of two places are paired as moved only if these are equal.
auto look_of(const AccountSite& site) {
  return std::make_tuple(site.op, site.argument, site.phase, site.cause, site.from, site.to);
}

CodePlace place_of(const AccountSite& site) { return {site.file, site.function, site.known_text()}; }

// Pairs each place that the second run lacks with a new one of nearly the same code: its casts moved there.
void pair_moved(Comparison& comparison) {
  std::map<decltype(look_of(AccountSite())), std::vector<std::size_t>> fresh;
  std::vector<SiteChange> changes = std::exchange(comparison.changes, {});
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (changes[i].change == Change::kNew) fresh[look_of(changes[i].after)].push_back(i);
  std::set<std::size_t> moved;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].change != Change::kGone) continue;
    std::vector<std::size_t>& left = fresh[look_of(changes[i].before)];
    const auto nearly = [&](std::size_t j) {
      return is_nearly(place_of(changes[i].before), place_of(changes[j].after));
    };
    const auto alike = [&](std::size_t j) { return changes[j].after.casts == changes[i].before.casts && nearly(j); };
    auto found = std::ranges::find_if(left, alike);
    if (found == left.end()) found = std::ranges::find_if(left, nearly);
    if (found == left.end()) continue;
    comparison.compare_moved(changes[i].before, changes[*found].after);
    moved.insert({i, *found});
    left.erase(found);
  }
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (!moved.contains(i)) comparison.changes.push_back(std::move(changes[i]));
}

std::vector<MetricChange> metric_changes(const Account& before, const Account& after) {
  std::vector<MetricChange> changes;
  for (const AccountMetric& was : before.metrics) {
    const auto is = std::ranges::find(after.metrics, was.name, &AccountMetric::name);
    if (is != after.metrics.end()) changes.push_back({was, *is});
  }
  return changes;
}

// Sorts the findings that the other does not have: by whether the other would have found them.
void find_only_in(const Account& account, const Account& other, std::vector<std::size_t>& only,
                  std::vector<std::size_t>& unseen) {
  const std::vector<InOther> there = in_other(account, other);
  for (std::size_t i = 0; i < there.size(); ++i)
    if (there[i] != InOther::kThere) (there[i] == InOther::kNotThere ? only : unseen).push_back(i);
}

bool looked_at_operators(const Account& account) { return !account.precision.empty() || !account.operators.empty(); }

void doubt_unseen(const Account& account, const Account& other, const std::vector<std::size_t>& unseen,
                  std::vector<std::string>& doubts) {
  if (unseen.empty()) return;
  doubts.push_back(other.name + ": it may have missed " + counted(unseen.size(), "finding", "findings") + " of " +
                   account.name + ": it " + std::string(kLookedLess));
}

}  // namespace

std::string_view name(Change change) {
  constexpr std::array<std::string_view, 6> kNames = {"new", "gone", "moved", "costlier", "cheaper", "elsewhere"};
  return kNames[static_cast<std::size_t>(change)];
}

bool Difference::any() const {
  return !new_findings.empty() || !fixed_findings.empty() || !precision.empty() || !new_in_a_half.empty() ||
         std::any_of(sites.begin(), sites.end(), [](const SiteChange& change) {
           return !change.by_time_alone && change.change != Change::kElsewhere;
         });
}

std::string_view name(Fault fault) {
  constexpr std::array<std::string_view, 4> kNames = {"new-findings", "new-casts", "dtypes", "any"};
  return kNames[static_cast<std::size_t>(fault)];
}

bool has(const Difference& difference, Fault fault) {
  const auto has_site = [&](auto condition) { return std::ranges::any_of(difference.sites, condition); };
  switch (fault) {
    case Fault::kNewFindings:
      return !difference.new_findings.empty();
    case Fault::kNewCasts:
      return has_site(
          [](const SiteChange& one) { return (one.change == Change::kNew && one.after.casts > 0) || one.more_casts; });
    case Fault::kDtypes:
      return !difference.precision.empty() || !difference.new_in_a_half.empty() ||
             has_site([](const SiteChange& one) { return one.change == Change::kMoved; });
    case Fault::kAny:
      break;
  }
  return difference.any();
}

Difference difference_of(const Account& before, const Account& after) {
  Difference difference;
  difference.totals = {{"step_count", before.steps, after.steps},
                       {"casts", before.casts, after.casts},
                       {"cache_hits", before.hits, after.hits},
                       {"pass_throughs", before.passes, after.passes},
                       {"bytes", before.bytes, after.bytes},
                       {"cpu_ns", before.cpu_ns, after.cpu_ns},
                       {"cache_peak_bytes", before.cache_peak_bytes, after.cache_peak_bytes}};
  const Comparable two = comparable(before, after);
  Places first = places_of(two.before), second = places_of(two.after);
  Comparison comparison(before, after);
  difference.per_step = comparison.differ_in_length();
  for (const auto& [place, sites] : first) comparison.compare(sites, std::exchange(second[place], {}));
  for (const auto& [place, sites] : second) comparison.compare({}, sites);
  pair_moved(comparison);
  difference.sites = std::move(comparison.changes);
  const auto cost = [](const SiteChange& change) { return std::max(change.before.cpu_ns, change.after.cpu_ns); };
  std::stable_sort(difference.sites.begin(), difference.sites.end(), [&](const SiteChange& a, const SiteChange& b) {
    return std::make_pair(a.change, cost(b)) < std::make_pair(b.change, cost(a));
  });
  difference.precision = precision_changes(before, after);
  difference.new_in_a_half = new_in_a_half(before, after);
  difference.metrics = metric_changes(before, after);
  difference.moved_findings = two.moved;
  find_only_in(two.after, two.before, difference.new_findings, difference.unseen_before);
  find_only_in(two.before, two.after, difference.fixed_findings, difference.unseen_after);
  for (const Account* account : {&before, &after}) {
    for (const std::string& why : why_incomplete(*account)) difference.doubts.push_back(account->name + ": " + why);
  }
  if (const auto sentence = two.sentence(); sentence && difference.any()) difference.doubts.push_back(*sentence);
  if (const auto differ = how_steps_differ(before, after)) difference.doubts.push_back(before.name + ": " + *differ);
  for (const auto& [one, other] : {std::pair(&before, &after), std::pair(&after, &before)})
    if (looked_at_operators(*other) && !looked_at_operators(*one))
      difference.doubts.push_back(one->name +
                                  ": no operator was looked at, so what they compute in is not compared; "
                                  "record it with --deep always");
  doubt_unseen(after, before, difference.unseen_before, difference.doubts);
  doubt_unseen(before, after, difference.unseen_after, difference.doubts);
  return difference;
}

}  // namespace castscope::report
