#include "server/store/run/completeness.h"

#include <signal.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/store/run/names.h"
#include "server/store/run/ranks.h"

namespace castscope::store {
namespace {

// "process 12", "process 12 (rank 1)"
std::string name_of(const Process& process) {
  const std::string rank = process.attribute("rank");
  return absl::StrCat("process ", process.info.pid, rank.empty() ? "" : " (rank " + rank + ")");
}

bool was_rejected(const RunData& data, const Process& process) {
  return std::ranges::any_of(data.incomplete, [&](const Incomplete& one) {
    return one.reason == IncompleteReason::kProcessRejected && one.process == process.info.key;
  });
}

void add_end(const RunData& data, const Process& process, std::vector<Incomplete>& all) {
  const auto add = [&](IncompleteReason reason, const std::string& what) {
    all.push_back({.reason = reason, .process = process.info.key, .sentence = name_of(process) + what});
  };
  const int signal = process.exit_status - 128;
  const char* const name = signal > 0 ? sigabbrev_np(signal) : nullptr;
  if (process.end == ProcessEnd::kVanished && name != nullptr) {
    const char* const why = signal == SIGKILL ? " (the kernel does that when memory runs out)" : "";
    add(IncompleteReason::kProcessVanished, absl::StrCat(" was killed by SIG", name, why));
  } else if (process.end == ProcessEnd::kVanished) {
    add(IncompleteReason::kProcessVanished,
        " is gone without an end mark: it was killed, or left by exec or a raw system call");
  } else if (process.end == ProcessEnd::kNotSeen && data.end && !was_rejected(data, process)) {
    // Of a rejected one the end was not taken either.
    add(IncompleteReason::kProcessStillRan,
        " still ran when its record was closed: what it did after that is not in it");
  }
}

// Whether nothing of the process comes any more. Of one that still ran, or was rejected, it is clear without a look at
// its events that some are missing.
bool is_over(const RunData& data, const Process& process) {
  return process.ended && process.end != ProcessEnd::kNotSeen && !was_rejected(data, process);
}

void add_missing_events(const RunData& data, const Process& process, std::vector<Incomplete>& all) {
  if (!is_over(data, process)) return;
  std::uint64_t published = 0, missing = 0;
  for (const LaneRow& lane : process.lanes) {
    published += lane.written;
    missing += lane.written > lane.received ? lane.written - lane.received : 0;
  }
  if (missing == 0) return;
  all.push_back({.reason = IncompleteReason::kEventsMissing,
                 .process = process.info.key,
                 .sentence = absl::StrCat("of ", published, published == 1 ? " event" : " events", " that ",
                                          name_of(process), " published, ", missing, " never arrived")});
}

void add_more_than_counted(const Process& process, std::uint64_t by_events, std::uint64_t counted, const char* what,
                           std::vector<Incomplete>& all) {
  if (by_events <= counted) return;
  all.push_back({.reason = IncompleteReason::kCountsMissing,
                 .process = process.info.key,
                 .sentence = absl::StrCat("the events of ", name_of(process), " tell of ", by_events, " ", what,
                                          by_events == 1 ? "" : "s", ", and it counted ", counted)});
}

// Counters are exact, and a process counts before it publishes: once it has ended, events that tell more come from a
// sender that does not know its own counts.
void add_missing_counts(const RunData& data, std::vector<Incomplete>& all) {
  struct Told {
    Counts by_events, counted;
  };
  Table<Told, Process> told(data.processes.size());
  for (const StepRun& run : data.step_runs)
    told[run.process].by_events += {.casts = run.casts, .hits = run.hits, .bytes = run.bytes};
  for (const SiteUse& use : data.site_uses) told[use.process].counted += use.counts;
  for (const Process& process : data.processes) {
    if (!is_over(data, process)) continue;
    Told& of = told[process.id];
    of.counted += process.beyond_sites;
    add_more_than_counted(process, of.by_events.casts, of.counted.casts, "cast", all);
    add_more_than_counted(process, of.by_events.hits, of.counted.hits, "cache hit", all);
    add_more_than_counted(process, of.by_events.bytes, of.counted.bytes, "byte", all);
  }
}

}  // namespace

bool leaves_casts_out(IncompleteReason reason) {
  return reason != IncompleteReason::kDamaged && reason != IncompleteReason::kProcessVanished &&
         reason != IncompleteReason::kEventsMissing;
}

std::vector<Incomplete> what_is_missing(const RunData& data) {
  std::vector<Incomplete> all;
  if (data.damage)
    all.push_back({.reason = IncompleteReason::kDamaged, .process = "", .sentence = data.damage->sentence});
  all.insert(all.end(), data.incomplete.begin(), data.incomplete.end());
  for (const Process& process : data.processes) add_end(data, process, all);
  for (const Process& process : data.processes) add_missing_events(data, process, all);
  add_missing_counts(data, all);
  if (const RankCount ranks = ranks_of(data); ranks.seen < ranks.expected)
    all.push_back({.reason = IncompleteReason::kRanksMissing,
                   .process = "",
                   .sentence = absl::StrCat(ranks.seen, " of ", ranks.expected, " ranks were seen")});
  if (!data.end) {
    all.push_back({.reason = IncompleteReason::kRunNotEnded,
                   .process = "",
                   .sentence = data.start.collected
                                   ? "the end of the run was not seen: it still goes on, or its collector was killed "
                                     "(`castscope serve`, started again on this folder, closes it)"
                                   : "the end of the run was not seen: it still goes on, or its relay was killed "
                                     "(`castscope recover` lists such runs)"});
  } else if (!data.end->complete && (all.empty() || !data.end->unseen.empty())) {
    const char* const somewhere = data.notices.empty() ? "the end of the run was not seen"
                                                       : "not all of the run was seen: the notices say what is missing";
    all.push_back({.reason = IncompleteReason::kRunEndNotSeen,
                   .process = "",
                   .sentence = data.end->unseen.empty() ? somewhere : data.end->unseen});
  }
  return all;
}

}  // namespace castscope::store
