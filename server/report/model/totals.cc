#include "server/report/model/totals.h"

#include <algorithm>
#include <tuple>

#include "server/report/model/spans.h"
#include "server/report/text/words.h"
#include "server/store/run/causes.h"
#include "server/store/run/completeness.h"
#include "server/store/run/process_order.h"

namespace castscope::report {
namespace {

Rest beyond_steps(const store::RunData& data, const Totals& totals) {
  store::Counts all = totals.autocast;
  all += totals.others;
  all += totals.compiled;
  for (const store::StepRun& run : data.step_runs) {
    all.casts -= run.casts;
    all.hits -= run.hits;
    all.bytes -= run.bytes;
    all.cpu_ns -= run.cpu_ns;
  }
  const auto rest = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  return {.casts = rest(all.casts), .hits = rest(all.hits), .bytes = rest(all.bytes), .cpu_ns = rest(all.cpu_ns)};
}

}  // namespace

Totals totals_of(const store::RunData& data) {
  Totals totals;
  for (const store::SiteUse& use : data.site_uses) {
    const auto cause = static_cast<std::size_t>(data.sites[use.site].cause);
    totals.by_cause[cause < totals.by_cause.size() ? cause : 0] += use.counts;
    const bool autocasts = store::is_autocasts(data.sites[use.site].cause);
    const bool compiled = data.sites[use.site].cause == lanes::Cause::kCompiled;
    (autocasts ? totals.autocast : compiled ? totals.compiled : totals.others) += use.counts;
    if (autocasts && data.sites[use.site].region == 0) totals.beyond_regions += use.counts;
    if (autocasts) totals.first_ns += first_ns_of(use);
  }
  for (const store::FactCount& count : data.fact_counts) {
    const auto kind = static_cast<std::size_t>(data.facts[count.fact].kind);
    totals.by_fact[kind < totals.by_fact.size() ? kind : 0] += count.times;
  }
  for (const store::Process& process : data.processes) {
    totals.beyond_sites += process.beyond_sites;
    for (const store::LaneRow& lane : process.lanes) {
      totals.dropped_events += lane.dropped;
      // Events that are still on their way only count as dropped once the process, or the run, has ended.
      const bool nothing_comes = process.ended || data.end;
      if (nothing_comes && lane.written > lane.received) totals.dropped_events += lane.written - lane.received;
    }
    const store::Gauges& gauges = process.gauges;
    totals.deep_steps += gauges.deep_steps;
    totals.deep_operators += gauges.deep_operators;
    totals.deep_ns += gauges.deep_ns;
    totals.cache.cache_bytes += gauges.cache_bytes;
    totals.cache.cache_entries += gauges.cache_entries;
    totals.cache.cache_clears += gauges.cache_clears;
    totals.cache.cache_peak_bytes = std::max(totals.cache.cache_peak_bytes, gauges.cache_peak_bytes);
    totals.cache.cache_peak_entries = std::max(totals.cache.cache_peak_entries, gauges.cache_peak_entries);
  }
  totals.autocast += totals.beyond_sites;
  totals.beyond_regions += totals.beyond_sites;
  totals.by_cause[static_cast<std::size_t>(lanes::Cause::kAutocast)] += totals.beyond_sites;
  totals.beyond_steps = beyond_steps(data, totals);
  return totals;
}

// Both numbers are rounded to ns separately, so the first may exceed the sum.
std::uint64_t first_ns_of(const store::SiteUse& use) {
  return use.counts.casts == 1 ? use.counts.cpu_ns : std::min(use.evidence.first_ns, use.counts.cpu_ns);
}

std::vector<SiteTotal> cast_sites(const store::RunData& data) {
  store::Table<SiteTotal, store::Site> by_site(data.sites.size());
  for (const store::SiteUse& use : data.site_uses) {
    if (use.counts.casts == 0 && use.counts.hits == 0) continue;
    SiteTotal& total = by_site[use.site];
    total.site = use.site;
    total.counts += use.counts;
    total.first_ns += first_ns_of(use);
    total.uses.push_back(&use);
  }
  const auto places = store::places_in_order(data);
  std::vector<SiteTotal> all;
  for (SiteTotal& total : by_site) {
    if (total.site == 0) continue;
    std::ranges::sort(total.uses, {}, [&](const store::SiteUse* use) { return places[use->process]; });
    all.push_back(std::move(total));
  }
  std::sort(all.begin(), all.end(), [](const SiteTotal& a, const SiteTotal& b) {
    return std::make_tuple(b.later_ns(), b.counts.casts, a.site) <
           std::make_tuple(a.later_ns(), a.counts.casts, b.site);
  });
  return all;
}

std::optional<int> exit_of(const store::RunData& data) {
  if (!data.end) return std::nullopt;
  if (data.end->signal) return 128 + *data.end->signal;
  return data.end->exit_status;
}

std::vector<std::string> changed_sources(const store::RunData& data) {
  constexpr std::size_t kTold = 5;
  std::vector<std::string> all;
  std::size_t more = 0;
  for (const auto& [name, file] : data.source.files()) {
    if (file.state != store::SourceState::kChanged) continue;
    if (all.size() == kTold) {
      ++more;
    } else {
      all.push_back(name +
                    " was written to or replaced after the run began: its lines may have moved, and comments in it "
                    "silence nothing");
    }
  }
  if (more > 0) all.push_back("so were " + counted(more, "other file", "other files"));
  return all;
}

bool traced_without_graph(const store::RunData& data) {
  const bool any_graph = std::ranges::any_of(data.site_uses, [&](const store::SiteUse& use) {
    return data.sites[use.site].compiled() && use.counts.casts > 0;
  });
  return !any_graph && totals_of(data).autocast.traced > 0;
}

std::vector<std::string> notices(const store::RunData& data, const std::vector<store::Incomplete>& missing) {
  std::vector<std::string> all = data.notices;
  if (data.weakly_checked) all.emplace_back(kWeaklyCheckedNotice);
  if (data.damage) all.insert(all.begin(), data.damage->sentence);
  for (const store::Process& process : data.processes) {
    for (const auto& [name, value] : process.attributes) {
      if (name == "notice" && std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    }
    if (std::string sentence = partly_watched(process); !sentence.empty()) all.push_back(std::move(sentence));
  }
  for (const store::Incomplete& one : missing) {
    if (!store::is_about_the_end(one.reason) && std::ranges::find(all, one.sentence) == all.end())
      all.push_back(one.sentence);
  }
  for (std::string& sentence : changed_sources(data)) all.push_back(std::move(sentence));
  if (traced_without_graph(data)) all.emplace_back(kTracedNotice);
  return all;
}

}  // namespace castscope::report
