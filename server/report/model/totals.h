// Sums over a run that the JSON report and the terminal summary both tell.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::report {

// The difference between a total and the sum of a list's rows. It is negative where the rows add up to more, since each
// row rounds its time.
struct Rest {
  std::int64_t casts = 0, hits = 0, bytes = 0, cpu_ns = 0;
};

struct Totals {
  store::Counts autocast;        // of autocast's causes (server/store/run/causes.h), wherever they were counted
  store::Counts beyond_sites;    // the part of `autocast` that belongs to no site
  store::Counts beyond_regions;  // the part of `autocast` that belongs to no region; `beyond_sites` is in it
  store::Counts others;          // of other causes, compiled graphs left out
  store::Counts compiled;        // of casts in graphs of torch.compile, which are counted and not timed
  Rest beyond_steps;             // of all causes together, what step_runs does not hold: events were dropped
  std::uint64_t first_ns = 0;    // the part of autocast's CPU time that is SiteTotal::first_ns of its sites
  std::array<store::Counts, count_of(lanes::Cause{})> by_cause{};    // index = lanes::Cause; with `beyond_sites`
  std::array<std::uint64_t, count_of(lanes::FactKind{})> by_fact{};  // times seen, index = lanes::FactKind
  std::uint64_t dropped_events = 0;  // events that processes made and the run's evidence lacks
  std::uint64_t deep_steps = 0, deep_operators = 0, deep_ns = 0;  // of all processes together
  store::Gauges cache;  // clears: of all processes; peaks: of the process that had the most; at the end: together
};
Totals totals_of(const store::RunData&);

struct SiteTotal {
  store::SiteId site = {};
  store::Counts counts;
  std::vector<const store::SiteUse*> uses;  // by process
  // The CPU time of the first cast in each process, which sets things up: it pays for page faults and the start of
  // threads. 0 where its event was dropped.
  std::uint64_t first_ns = 0;
  std::uint64_t later_ns() const { return counts.cpu_ns - first_ns; }
};
std::uint64_t first_ns_of(const store::SiteUse&);
// Sites that cast or hit, the costliest first (CPU time without first casts, then casts, then id).
std::vector<SiteTotal> cast_sites(const store::RunData&);

// The command's exit status as a shell shows it: 128 + signal when a signal ended it.
std::optional<int> exit_of(const store::RunData&);
// Whether calls were traced and no graph of torch.compile was seen for them. It cannot be known whether a compiler made
// something of them: a graph may also run operator by operator (backend="eager", make_fx), and then its casts are
// counted like any other.
bool traced_without_graph(const store::RunData&);
inline constexpr const char* kWeaklyCheckedNotice =
    "the run file has format 19 and is only weakly checked: that single events are missing from it, or that its "
    "checksum is gone, would not show";
inline constexpr const char* kTracedNotice =
    "calls of autocast were traced, as torch.compile does, and no compiled graph was seen: where a backend generated "
    "code, that code casts by itself, and those casts are not counted";
// Returns a sentence for each source file that was written to after the run began. notices() has them too.
std::vector<std::string> changed_sources(const store::RunData&);
// Returns the sentences that were said during the run, the notes of its processes, and those about what is missing;
// each once.
std::vector<std::string> notices(const store::RunData&, const std::vector<store::Incomplete>& missing);

}  // namespace castscope::report
