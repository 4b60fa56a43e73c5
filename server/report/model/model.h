// The data that every report of a run is made from: the run's data and the results that are computed from it once.
// Reports differ in form only; a number that two of them show comes from here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/judging/judged_run.h"
#include "server/report/model/layers.h"
#include "server/report/model/model_input.h"
#include "server/report/model/roles.h"
#include "server/report/model/totals.h"
#include "server/rules/evidence/counts/device_time.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct RegionTotal {  // of all processes
  store::Counts counts;
  std::uint64_t entered = 0;
  std::uint64_t most_entries = 0, most_bytes = 0;  // put into the cache during one stay
};

struct ProcessTotal {
  store::Counts counts;                                  // every return of cached_cast
  std::uint64_t written = 0, received = 0, dropped = 0;  // events
};

struct Model {
  const store::RunData& run;  // must outlive the model
  Totals totals;
  std::vector<SiteTotal> sites;      // that cast or hit, costliest first
  std::vector<std::size_t> by_code;  // places in `sites`, in the order of the code (code_order.h)
  store::Table<std::string, store::Site> site_fingerprints;
  store::Table<RegionTotal, store::Region> regions;
  store::Table<ProcessTotal, store::Process> processes;
  std::vector<store::ProcessId> process_order;               // by rank, host and start: lists are in this order
  store::Table<std::size_t, store::Process> process_places;  // the place of each in it
  std::vector<rules::Finding> findings;                      // errors first
  std::vector<std::string> fingerprints;                     // of `findings`
  std::vector<rules::Finding> silenced;                      // by castscope.json or a comment
  std::vector<std::string> silenced_fingerprints;
  std::uint64_t ignored_by_settings = 0, ignored_in_code = 0;
  rules::Settings settings;                 // by which the run was judged
  std::vector<std::string> notices;         // the hints too
  std::vector<std::string> hints;           // as in rules::Judgement
  std::optional<store::Savings> enforcing;  // what `castscope run --enforce` would have saved
  rules::LookedAt looked_at;                // operator by operator
  std::vector<rules::JudgedRule> rules;     // how far each could judge
  rules::DeviceTime gpu;                    // of timed steps
  std::vector<RoleTotal> roles;
  Layers layers;
  std::optional<ModelInput> input;
  std::uint64_t steps = 0, evaluations = 0;  // store::step_counts
  std::optional<int> exit;
  std::vector<store::Incomplete> missing;  // what keeps the run from being complete
  bool complete() const { return missing.empty(); }
  bool observed = false;  // a process was recorded: else there was nothing to find
  bool judged() const {
    return !run.damage || !run.damage->evidence;
  }  // else an empty list does not mean that all is well

  const store::Module* module_of(const store::Site& site) const { return run.modules.find(site.module); }
};

Model model_of(const store::RunData&, rules::Judgement);
Model model_of(const judging::JudgedRun&);  // which must outlive the model
Model model_of(const store::RunData&);      // judged by the rules' defaults

// Data loss when the file was damaged or cut short after it was written.
absl::Status damage_status(const std::string& run_file, const store::RunData&);

// "24 casts by autocast, 6 cache hits, 12 pass-throughs; 21.0 kB copied in 12 µs of CPU time; 3 steps; 2 processes"
std::string totals_line(const Model&);
// "the job ended with exit status 1", "the job was ended by signal 9 (SIGKILL)"; "" when it ended well, or when its end
// is not known.
std::string failure_text(const Model&);
// The same as a sentence of its own, or "".
std::string failure_sentence(const Model&);
// "6 user_to, 2 promotion; 384 bytes copied in 3 µs of CPU time": casts that autocast did not make; "" when there are
// none. The tables of sites and of steps count them too.
std::string other_causes(const Model&);
// "at most 3 entries, 1.0 MB; cleared 6 times"; "" when nothing was ever kept.
std::string cache_line(const Model&);
// "`castscope run --enforce torch-cpu` would keep 34 MB of copies and save about 41 % of each step"; "" = nothing to
// say.
std::string enforcing_text(const Model&);
// "2 findings ignored by castscope.json, 1 by comments in the code"; "" when none is.
std::string ignored_text(const Model&);

}  // namespace castscope::report
