#include "server/rules/judged_rules.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/rules.h"
#include "server/store/run/completeness.h"
#include "server/store/run/names.h"

namespace castscope::rules {
namespace {

// How far one kind of evidence goes, and a sentence where that is not all the way.
struct Reach {
  Judged judged = Judged::kFull;
  std::string because;
};

Reach partly_if(const std::vector<std::string>& because) {
  return because.empty() ? Reach() : Reach{Judged::kPartly, absl::StrJoin(because, "; ")};
}

// The first of these is said, and how many more there are: the report has them all.
void add_missing(const std::vector<store::Incomplete>& missing, std::vector<std::string>& because) {
  if (missing.empty()) return;
  because.push_back(missing.front().sentence);
  const std::size_t more = missing.size() - 1;
  if (more > 0) because.push_back(absl::StrCat(more, more == 1 ? " more reason" : " more reasons", " in run.missing"));
}

// Rules judge casts by their sites. They cannot judge a cast that was counted without a site, nor one that the
// collector did not take.
Reach reach_of_run(const store::RunData& run, std::vector<store::Incomplete> missing) {
  if (run.damage && run.damage->evidence)
    return {Judged::kNot, "the run file is damaged or cut short, and what rules look at is not all there"};
  if (run.processes.empty()) return {Judged::kNot, "no process was seen that used PyTorch's autocast"};
  std::uint64_t beyond_sites = 0;
  for (const store::Process& process : run.processes)
    beyond_sites += process.beyond_sites.casts + process.beyond_sites.hits;
  std::vector<std::string> because;
  if (beyond_sites > 0)
    because.push_back(absl::StrCat(beyond_sites,
                                   beyond_sites == 1 ? " cast or cache hit belongs" : " casts and cache hits belong",
                                   " to no site"));
  std::erase_if(missing, [](const store::Incomplete& one) { return !store::leaves_casts_out(one.reason); });
  add_missing(missing, because);
  return partly_if(because);
}

std::string of_all(std::uint64_t part, std::uint64_t all, const char* what) {
  return absl::StrCat(part, " of ", all, " ", what);
}

std::string why_nothing_was_looked_at(const store::RunData& run) {
  if (deep_mode(run) == "never") return "no step was looked at operator by operator: --deep never";
  const bool in_region =
      std::ranges::any_of(run.region_uses, [](const store::RegionUse& use) { return use.entered > 0; }) ||
      std::ranges::any_of(run.sites, [](const store::Site& site) { return site.region != 0; });
  return in_region || deep_mode(run) == "always"
             ? "no operator was looked at"
             : "no operator was looked at: the job entered no autocast region, and only --deep always looks at "
               "such a job";
}

Reach reach_of_operators(const store::RunData& run, const LookedAt& looked) {
  if (looked.operators == 0) return {Judged::kNot, why_nothing_was_looked_at(run)};
  std::string because;
  if (!looked.sites_not.empty())
    because = absl::StrCat(of_all(looked.sites_not.size(), looked.sites, "places of casts"),
                           " were in no step that was looked at operator by operator");
  if (looked.refused > 0)
    absl::StrAppend(&because, because.empty() ? "" : "; ", "code that was new was left out ", looked.refused,
                    looked.refused == 1 ? " time" : " times", ", since looking had taken what it may");
  if (!because.empty()) return {Judged::kPartly, because};
  if (!looked.first_gap) return {};
  return {Judged::kSampled,
          looked.deep_steps < looked.steps
              ? absl::StrCat(of_all(looked.deep_steps, looked.steps, "steps"), " were looked at operator by operator")
              : "a long step was not looked at to its end"};
}

// Returns how many of the casts and cache hits that were counted no event told. The agent sends an event for each,
// except for threads that got no lane; a client that somebody else wrote for the collector may send counters alone.
// While a process goes on, events may be on their way. Where some belong to no site, that is reason enough.
std::uint64_t without_event(const store::RunData& run) {
  store::Table<std::uint64_t, store::Process> told(run.processes.size()), counted(run.processes.size());
  for (const store::StepRun& steps : run.step_runs) told[steps.process] += steps.casts + steps.hits;
  for (const store::SiteUse& use : run.site_uses) counted[use.process] += use.counts.casts + use.counts.hits;
  std::uint64_t without = 0;
  for (const store::Process& process : run.processes) {
    const bool all_have_sites = process.beyond_sites.casts + process.beyond_sites.hits == 0;
    if (process.ended && all_have_sites && counted[process.id] > told[process.id])
      without += counted[process.id] - told[process.id];
  }
  return without;
}

Reach reach_of_events(const store::RunData& run, std::vector<store::Incomplete> missing) {
  std::vector<std::string> because;
  std::erase_if(missing, [](const auto& one) { return one.reason != store::IncompleteReason::kEventsMissing; });
  add_missing(missing, because);
  std::uint64_t dropped = 0;
  for (const store::Process& process : run.processes)
    for (const store::LaneRow& lane : process.lanes) dropped += lane.dropped;
  if (dropped > 0) because.push_back(absl::StrCat(dropped, " events were dropped"));
  if (const std::uint64_t without = without_event(run); without > dropped)
    because.push_back(absl::StrCat(without - dropped,
                                   without - dropped == 1 ? " cast or cache hit was" : " casts and cache hits were",
                                   " counted, and no event told of ", without - dropped == 1 ? "it" : "them"));
  if (run.start.continued)
    because.emplace_back(
        "whoever wrote the run file was started again while the job ran, and what was going on in a region then was "
        "seen as two");
  return partly_if(because);
}

bool is_on_gpu(const store::RunData& run) {
  const auto is_gpu = [](std::uint8_t device) { return store::device_name(device) == "cuda"; };
  return std::ranges::any_of(run.sites, [&](const store::Site& site) { return is_gpu(site.device); }) ||
         std::ranges::any_of(run.operator_uses, [&](const store::OperatorUse& use) { return is_gpu(use.device); });
}

Reach reach_of_device(const store::RunData& run) {
  if (!is_on_gpu(run) || device_time(run).timed()) return {};
  return {Judged::kNot, "the job used a GPU, and no kernel was timed"};
}

void take_worse(Reach& reach, const Reach& other) {
  if (other.judged > reach.judged) {
    reach = other;
  } else if (other.judged == reach.judged && !other.because.empty() && other.because != reach.because) {
    absl::StrAppend(&reach.because, "; ", other.because);
  }
}

}  // namespace

std::string_view name(Judged judged) {
  constexpr std::array<std::string_view, 4> kNames = {"full", "sampled", "partly", "not"};
  return kNames[static_cast<std::size_t>(judged)];
}

std::vector<JudgedRule> judged_rules(const store::RunData& run, const LookedAt& looked, const Settings& settings) {
  const std::vector<store::Incomplete> missing = store::what_is_missing(run);
  const Reach whole = reach_of_run(run, missing), operators = reach_of_operators(run, looked),
              events = reach_of_events(run, missing), device = reach_of_device(run);
  std::vector<JudgedRule> all;
  for (const Rule* rule : all_rules()) {
    if (!settings.selects(rule->name)) {
      all.push_back({rule, Judged::kNot, "castscope.json does not select it", true});
      continue;
    }
    Reach reach = whole;
    if (whole.judged != Judged::kNot) {
      if (rule->sees & kOperators) take_worse(reach, operators);
      if (rule->sees & kSomeOperators)
        take_worse(reach, {std::min(operators.judged, Judged::kPartly), operators.because});
      if (rule->sees & kEvents) take_worse(reach, events);
      if (rule->sees & kDevice) take_worse(reach, device);
    }
    all.push_back({rule, reach.judged, std::move(reach.because)});
  }
  return all;
}

}  // namespace castscope::rules
