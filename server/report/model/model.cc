#include "server/report/model/model.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/report/findings/fingerprint.h"
#include "server/report/model/code_order.h"
#include "server/report/model/site_fingerprint.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/counts/looked_at.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/store/run/causes.h"
#include "server/store/run/completeness.h"
#include "server/store/run/names.h"
#include "server/store/run/process_order.h"
#include "server/store/run/step_numbers.h"

namespace castscope::report {
namespace {

store::Table<RegionTotal, store::Region> region_totals(const store::RunData& run) {
  store::Table<RegionTotal, store::Region> all(run.regions.size());
  for (const store::SiteUse& use : run.site_uses) {
    const store::Site& site = run.sites[use.site];
    if (store::is_autocasts(site.cause) && site.region != 0) all[site.region].counts += use.counts;
  }
  for (const store::RegionUse& use : run.region_uses) {
    RegionTotal& total = all[use.region];
    total.entered += use.entered;
    total.most_entries = std::max(total.most_entries, use.most_entries);
    total.most_bytes = std::max(total.most_bytes, use.most_bytes);
  }
  return all;
}

store::Table<ProcessTotal, store::Process> process_totals(const store::RunData& run) {
  store::Table<ProcessTotal, store::Process> all(run.processes.size());
  for (const store::Process& process : run.processes) {
    ProcessTotal& total = all[process.id];
    total.counts = process.beyond_sites;
    for (const store::LaneRow& lane : process.lanes) {
      total.written += lane.written + lane.dropped;
      total.received += lane.received;
      total.dropped += lane.dropped;
    }
  }
  for (const store::SiteUse& use : run.site_uses) {
    if (store::is_autocasts(run.sites[use.site].cause)) all[use.process].counts += use.counts;
  }
  return all;
}

// Places in the evidence go from the root, as all other paths do.
void place_from_root(const std::string& project, std::vector<rules::Finding>& findings) {
  if (project.empty()) return;
  for (rules::Finding& finding : findings)
    for (auto& [name, text] : finding.evidence_text) absl::StrReplaceAll({{project + "/", ""}}, &text);
}

}  // namespace

Model model_of(const store::RunData& run, rules::Judgement judgement) {
  std::vector<store::Incomplete> missing = store::what_is_missing(run);
  std::vector<std::string> told = notices(run, missing);
  told.insert(told.end(), judgement.hints.begin(), judgement.hints.end());
  for (std::vector<rules::Finding>* const list : {&judgement.findings, &judgement.silenced})
    place_from_root(run.start.project(), *list);
  // Together, so that none is called as another one is.
  std::vector<rules::Finding> all = judgement.findings;
  all.insert(all.end(), judgement.silenced.begin(), judgement.silenced.end());
  std::vector<std::string> prints = fingerprints(all, run.source, run.start.project());
  const auto silenced = prints.begin() + static_cast<std::ptrdiff_t>(judgement.findings.size());
  std::vector<std::string> silenced_prints(silenced, prints.end());
  prints.erase(silenced, prints.end());
  std::vector<SiteTotal> sites = cast_sites(run);
  std::vector<std::size_t> by_code = sites_by_code(run, sites);
  auto site_prints = site_fingerprints(run, sites, by_code);
  const store::StepCounts steps = store::step_counts(run);
  return {.run = run,
          .totals = totals_of(run),
          .sites = std::move(sites),
          .by_code = std::move(by_code),
          .site_fingerprints = std::move(site_prints),
          .regions = region_totals(run),
          .processes = process_totals(run),
          .process_order = store::processes_in_order(run),
          .process_places = store::places_in_order(run),
          .findings = std::move(judgement.findings),
          .fingerprints = std::move(prints),
          .silenced = std::move(judgement.silenced),
          .silenced_fingerprints = std::move(silenced_prints),
          .ignored_by_settings = judgement.ignored_by_settings,
          .ignored_in_code = judgement.ignored_in_code,
          .settings = std::move(judgement.settings),
          .notices = std::move(told),
          .hints = std::move(judgement.hints),
          .enforcing = rules::saved_by_enforcing(run),
          .looked_at = std::move(judgement.looked_at),
          .rules = std::move(judgement.rules),
          .gpu = rules::device_time(run),
          .roles = by_role(run),
          .layers = layers_of(run),
          .input = model_input(run),
          .steps = steps.training,
          .evaluations = steps.evaluations,
          .exit = exit_of(run),
          .missing = std::move(missing),
          .observed = !run.processes.empty()};
}

Model model_of(const judging::JudgedRun& judged) { return model_of(judged.data, judged.judgement); }
Model model_of(const store::RunData& run) { return model_of(run, rules::judgement_of(run)); }

absl::Status damage_status(const std::string& run_file, const store::RunData& run) {
  return run.damage ? absl::DataLossError(absl::StrCat(run_file, ": ", run.damage->sentence)) : absl::OkStatus();
}

std::string failure_text(const Model& model) {
  if (!model.run.end) return "";
  if (const auto& signal = model.run.end->signal) {
    const char* const name = sigabbrev_np(*signal);
    return absl::StrCat("the job was ended by signal ", *signal,
                        name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
  }
  return model.exit.value_or(0) == 0 ? "" : absl::StrCat("the job ended with exit status ", *model.exit);
}

std::string failure_sentence(const Model& model) {
  std::string text = failure_text(model);
  if (text.empty()) return text;
  text.front() = 'T';
  return text + ".";
}

namespace {

// Whether a region with autocast on was entered.
bool was_on(const store::RunData& run) {
  return std::ranges::any_of(
      run.region_uses, [&](const store::RegionUse& use) { return use.entered > 0 && run.regions[use.region].enabled; });
}

}  // namespace

std::string totals_line(const Model& model) {
  const store::Counts& all = model.totals.autocast;
  const std::uint64_t script = model.totals.by_cause[static_cast<std::size_t>(lanes::Cause::kScript)].casts;
  const std::string by_script = script == 0 ? "" : " (" + grouped(script) + " by TorchScript)";
  std::string text = counted(all.casts, "cast", "casts") + " by autocast" + by_script + ", " +
                     counted(all.hits, "cache hit", "cache hits") + ", " +
                     counted(all.passes, "pass-through", "pass-throughs");
  const std::uint64_t custom = model.totals.by_cause[static_cast<std::size_t>(lanes::Cause::kCustomCast)].casts;
  if (all.casts + all.hits + all.passes + all.traced + custom + model.totals.compiled.casts == 0) {
    const bool all_was_seen = model.complete() && model.run.notices.empty();
    const std::uint64_t fsdp = model.totals.by_cause[static_cast<std::size_t>(lanes::Cause::kFsdp)].casts;
    text = fsdp > 0            ? counted(fsdp, "cast", "casts") + " by FSDP's mixed precision, none by autocast"
           : !all_was_seen     ? "no casts were recorded"
           : was_on(model.run) ? "autocast was on, and cast nothing"
                               : "autocast was never asked to cast anything";
    // Of a run that came over the network the processes tell it, if there are any.
    const bool mode_is_known = !model.run.start.collected || !model.run.processes.empty();
    if (all_was_seen && model.run.operator_uses.empty() && mode_is_known && rules::deep_mode(model.run) != "always")
      text += " (--deep always looks at such a job, too)";
  }
  if (all.traced > 0) text += ", " + grouped(all.traced) + " while tracing";
  if (all.casts > 0) {
    text += "; " + rules::readable_bytes(all.bytes) + " copied in " + duration(all.cpu_ns) + " of CPU time";
  }
  if (const store::Counts& compiled = model.totals.compiled; compiled.casts > 0)
    text += "; " + counted(compiled.casts, "cast", "casts") + " in compiled graphs, " +
            rules::readable_bytes(compiled.bytes) + ", not timed";
  if (model.steps > 1 || model.evaluations > 0) text += "; " + counted(model.steps, "step", "steps");
  if (model.evaluations > 0) text += " and " + counted(model.evaluations, "evaluation", "evaluations");
  const std::size_t processes = model.run.processes.size();
  if (processes > 1) text += "; " + counted(processes, "process", "processes");
  return text;
}

std::string other_causes(const Model& model) {
  std::string list;
  const auto& by_cause = model.totals.by_cause;
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause) {
    const bool told = store::is_autocasts(static_cast<lanes::Cause>(cause)) ||
                      cause == static_cast<std::size_t>(lanes::Cause::kCompiled);  // in the line above
    if (told || by_cause[cause].casts == 0) continue;
    list.append(list.empty() ? "" : ", ")
        .append(grouped(by_cause[cause].casts))
        .append(" ")
        .append(store::cause_names()[cause]);
  }
  const store::Counts& all = model.totals.others;
  if (!list.empty())
    list += "; " + rules::readable_bytes(all.bytes) + " copied" +
            (all.cpu_ns == 0 ? ", not timed" : " in " + duration(all.cpu_ns) + " of CPU time");
  return list;
}

std::string cache_line(const Model& model) {
  const store::Gauges& cache = model.totals.cache;
  if (cache.cache_peak_entries == 0) return "";
  return "at most " + counted(cache.cache_peak_entries, "entry", "entries") + ", " +
         rules::readable_bytes(cache.cache_peak_bytes) + "; cleared " + counted(cache.cache_clears, "time", "times");
}

std::string enforcing_text(const Model& model) {
  if (!model.enforcing) return "";
  return "`castscope run --enforce torch-cpu` would keep " + rules::readable_bytes(model.enforcing->held_bytes) +
         " of copies and save about " + percent(model.enforcing->share_of_step) +
         (model.steps > 1 ? " of each step" : " of the time that autocast was in use");
}

std::string ignored_text(const Model& model) {
  const std::uint64_t settings = model.ignored_by_settings, code = model.ignored_in_code;
  if (settings + code == 0) return "";
  const std::string by_code = code == 1 ? "a comment in the code" : "comments in the code";
  if (settings == 0) return counted(code, "finding", "findings") + " ignored by " + by_code;
  std::string text = counted(settings, "finding", "findings") + " ignored by castscope.json";
  if (code > 0) text += ", " + grouped(code) + " by " + by_code;
  return text;
}

}  // namespace castscope::report
