// A run as its file holds it, in typed structs: what rules judge and reports tell. Everything is read at once; the
// single events stay in the file (read/event_blocks.h reads them), so the size follows the code of the job, not its
// length.
//
// Ids (ids.h) are run-wide: the same code in eight ranks is one site. What is numbered stands in the tables below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/run/ids.h"
#include "server/store/run/metric_data.h"
#include "server/store/run/row_definitions.h"
#include "server/store/run/run_sink.h"
#include "server/store/run/source_lines.h"
#include "server/store/run/table.h"

namespace castscope::store {

// What Git said of the checkout when the run began; "" and nothing = not known.
struct GitState {
  std::string commit, branch;
  std::string origin;         // its URL, without credentials
  std::optional<bool> dirty;  // tracked files differed from the commit
};

struct RunStart {
  std::string run_id;
  std::vector<std::string> command;
  std::string cwd;
  std::string host;
  std::string castscope_version;
  std::int64_t start_ns = 0;  // wall clock, since the epoch
  std::string policy = {};    // it is held against or follows, as server/policy/compiled.h has it; "" = none
  std::string deep = {};      // which steps are to be deep, as `castscope run` was told; "" = not told
  std::string gpu = {};       // whether kernels are to be timed, likewise
  std::string keep = {};      // which events the file keeps: "all", "window"; "" = not known
  bool collected = false;     // `castscope serve` writes the file, and writes on in it when it is started again
  bool continued = false;     // somebody wrote on in the file after a restart, and more events of a process came
  std::string checkout = {};  // the folder at or above cwd that version control knows; "" = none
  std::string owner = {};     // of a collected run: the digest of the key that its senders know; "" = it has none
  std::string sender = {};    // of a collected run: whose token its first relay gave; "" = no token was asked for
  GitState git = {};
  // What nobody reads of the job's source, on whichever machine: "all" of it; the "files", so that only lines which the
  // file keeps are shown; "" = nothing is withheld.
  std::string source_withheld = {};
  // From where files are called the same on every machine.
  const std::string& project() const { return checkout.empty() ? cwd : checkout; }
};

struct RunEnd {
  std::int64_t end_ns = 0;
  std::optional<int> exit_status = {};  // of the job: what exit() was given
  std::optional<int> signal = {};       // or what killed it
  bool complete = false;                // the job was seen to end and everything it had published was taken
  std::string unseen = {};              // a sentence where that is not so for a reason that stands nowhere else
};

struct Counts {
  std::uint64_t casts = 0, hits = 0, passes = 0, traced = 0, bytes = 0, cpu_ns = 0, kept = 0;
  Counts& operator+=(const Counts& other);
  bool empty() const { return (casts | hits | passes | traced | bytes | cpu_ns | kept) == 0; }
};

struct Stack {
  std::vector<CodeLocation> frames;  // innermost first
  bool truncated = false;
};
struct Module {
  std::string path, type, root_type;
  std::uint32_t root_number = 0;  // which of the living outermost modules of that class, 1, 2, …
  // The name that a user gives the outermost module: "Net", "Net#2".
  std::string model() const { return root_number > 1 ? root_type + "#" + std::to_string(root_number) : root_type; }
};
struct CallSite {
  std::string op;
  std::uint32_t argument = lanes::kUnknownArgument;
  std::string argument_name, code_address;
};
struct Region {
  RegionId id = {};
  StackId stack = {};
  RegionId parent = {};
  std::uint32_t nesting = 0;
  std::uint8_t device = 0, dtype = 0;
  bool enabled = false, cache_enabled = false;
  lanes::RegionKind kind{};
  std::uint8_t flags = 0;  // lanes::kRegion…
};
struct Site {
  SiteId id = {};
  StackId stack = {};
  ModuleId module = {};
  CallSiteId call_site = {};
  RegionId region = {};
  SiteId forward_site = {};  // cause backward: the cast in the forward pass whose gradient is cast; 0 = not known
  std::string op;            // of the call site (cause autocast) or of the site itself
  lanes::Role role{};
  lanes::Cause cause{};
  lanes::WhyNotCached why{};
  lanes::Phase phase{};
  std::uint8_t from = 0, to = 0, device = 0, flags = 0;
  bool pass_through() const { return flags & lanes::kSitePassThrough; }
  bool has_dtypes() const { return (flags & lanes::kSiteNoCast) == 0; }
  bool traced() const { return flags & lanes::kSiteTraced; }
  bool baked() const { return flags & lanes::kSiteBaked; }
  bool compiled() const { return flags & lanes::kSiteCompiled; }
};

// Shows what the events of one process said of one site. Lower bounds when events were dropped. "Region" is the
// outermost open region here: the cache lives as long as it does.
struct SiteEvidence {
  // Casts of what had been cast at this site in this region before, of tensors that are computed for each use: known
  // by their values, as far as those can be looked at, else whatever they are.
  std::uint64_t repeats = 0;
  std::uint64_t same_source = 0;        // casts of a tensor that had been cast before, as it is, in the same region
  std::uint64_t most_in_region = 0;     // casts of this site in one region, at most
  std::uint64_t most_kept = 0;          // cache entries of this site in one region, at most
  std::uint64_t most_kept_bytes = 0;    // their bytes
  std::uint64_t hits_after_growth = 0;  // in that region: hits since the last new entry
  // Entries of one region, at most, whose source had been cast in an earlier one, and later there than that of the one
  // before. All of a list that lives come so; the addresses of weights that are gone come back in any order.
  std::uint64_t returning = 0;
  // Casts of a weight whose copy an earlier stay of the same forward pass had kept, without a write in between: each
  // stay ended, and emptied the cache.
  std::uint64_t recast_in_pass = 0;
  std::uint64_t recast_passes = 0;  // passes with such casts, and all that cast weights here: a forward pass without
  std::uint64_t cast_passes = 0;    // backward (a batch that is left out) is taken for a part of the next one
  std::uint64_t first_ns = 0;       // the first cast alone: it may pay for page faults and the start of threads
};

struct SiteUse {  // (process, site)
  ProcessId process = {};
  SiteId site = {};
  Counts counts;  // exact
  SiteEvidence evidence;
};

struct RegionUse {  // (process, region), from events
  ProcessId process = {};
  RegionId region = {};
  std::uint64_t entered = 0, exited = 0;
  std::uint64_t most_entries = 0, most_bytes = 0;  // put into the cache during one stay
  // These three count only in outermost regions switched on without nesting, which clear nothing by themselves.
  std::uint64_t kept = 0, kept_bytes = 0;  // put into the cache
  std::uint64_t own_clears = 0;            // clears made by a thread that had itself put entries there so
  std::uint32_t first_kept_step = 0;
  // These two count in every region, whether outermost or not.
  std::uint64_t most_optimizer_steps = 0;  // taken by its thread during one stay
  std::uint64_t cleared_midway = 0;        // times that its end cleared what another thread's open region had kept
  // While it was open, by its thread: times that the cache was cleared, and hits of a copy that was made in the same
  // stay before its latest optimizer step.
  std::uint64_t clears_within = 0, old_hits = 0;
};

// Consecutive steps that did the same. behaviour 0 = several kinds of steps put together to bound the file.
struct StepRun {
  ProcessId process = {};
  // As events have them: evaluations are counted, too. step_numbers.h tells them apart.
  std::uint32_t first = 0, last = 0;
  std::uint32_t length() const { return last - first + 1; }
  std::uint32_t training_steps = 0;  // of them, those with backward, with an optimizer, or which castscope.step() ended
  std::uint32_t behaviour = 0;
  bool incomplete = false;                // events were dropped during these steps
  std::int64_t begin_ns = 0, end_ns = 0;  // since the process's begin
  std::int64_t median_ns =
      0;  // of how long each of these steps took, without the time between them; deep ones are left out
  std::uint64_t casts = 0, hits = 0, regions = 0, clears = 0, bytes = 0, cpu_ns = 0;  // of all these steps together
  std::uint64_t cache_bytes = 0;                                                      // most that one clear freed
};
struct BehaviourSite {
  std::uint32_t behaviour = 0;
  SiteId site = {};
  std::uint32_t casts = 0, hits = 0;  // in one step
};

struct Process {
  ProcessId id = {};
  ProcessInfo info;
  std::vector<std::pair<std::string, std::string>> attributes;  // as told, in order
  Gauges gauges;
  ProcessEnd end = ProcessEnd::kNotSeen;
  bool ended = false;  // its end was told
  int exit_status = -1;
  Counts beyond_sites;  // calls whose site could not be given a counter, or whose thread no lane
  std::vector<LaneRow> lanes;
  std::vector<ThreadInfo> threads;
  std::string attribute(std::string_view name) const;  // the last one told, "" = none
};

// Says what became of a file that was damaged or cut short after it was written.
struct Damage {
  std::string sentence;   // "the run file is cut short: 100 of 200 bytes are there; …"
  bool evidence = false;  // what rules judge is not all there: rules would find what is not so
};

struct RankCount {
  std::uint32_t expected = 0, seen = 0;
};

struct RunData {
  RunStart start;
  std::optional<Damage> damage;
  bool weakly_checked = false;  // its file has format 19: damage to events, and missing checksums, do not show
  std::optional<RunEnd> end;
  std::vector<std::string> notices;
  RankCount ranks;                     // as relays told, at the end of the run; ranks_of() (ranks.h) has all
  std::vector<Incomplete> incomplete;  // as told; what_is_missing() (completeness.h) has all that is missing
  Table<Process> processes;
  Table<Stack> stacks;
  Table<Module> modules;
  Table<CallSite> call_sites;
  Table<Region> regions;
  Table<Site> sites;
  std::vector<SiteUse> site_uses;      // ordered by (process, site)
  std::vector<RegionUse> region_uses;  // ordered by (process, region)
  std::vector<StepRun> step_runs;      // ordered by (process, first)
  std::vector<BehaviourSite> behaviour_sites;
  Table<OperatorUse> operator_uses;
  std::vector<UseCount> use_counts;  // ordered by (process, use)
  std::vector<ValueRange> value_ranges;
  std::vector<ScalerUse> scaler_uses;
  std::vector<Metric> metrics;                  // ordered by (process, number)
  Table<std::string, KernelName> kernel_names;  // as the driver has them, mangled
  Table<Kernel> kernels;
  std::vector<KernelCount> kernel_counts;  // ordered by (process, kernel)
#define CASTSCOPE_LISTS(Type, list, counts, word) \
  Table<Type> list;                               \
  std::vector<Type##Count> counts;
  CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_LISTS)  // flows, flow_counts, facts, …
#undef CASTSCOPE_LISTS
  std::vector<std::string> torch_folders;  // where the processes' torch package lies
  SourceLines source;                      // of the lines that findings and sites name

  // The outermost region around `id`; none for none.
  RegionId outermost(RegionId id) const;
  // Innermost frame that is the user's own; the innermost one when none is; nothing without a stack.
  std::optional<CodeLocation> user_location(StackId stack) const;
};

// A process tells with this attribute where its torch package lies, before its first stack.
inline constexpr std::string_view kTorchFolder = "torch_folder";
// Not in the torch package, not in Python's standard library (contextlib enters regions, threading calls modules), and
// not code without a file of its own that torch or Python generated.
bool is_users_own(const CodeLocation&, const std::vector<std::string>& torch_folders);
bool is_standard_library(const CodeLocation&);

// The saving that mending a finding would bring, as far as it was measured.
struct Savings {
  double ns_per_step = 0;        // 0 = not known
  double share_of_step = 0;      // 0 … 1
  std::uint64_t held_bytes = 0;  // that a copy which is kept would take
};

// As rules found it; what the findings table holds.
struct Finding {
  std::string rule;
  std::string severity;  // error, warning, performance, info
  std::string title;
  std::optional<CodeLocation> location;
  std::vector<CodeLocation> related;                               // other places that belong to it, in reading order
  std::vector<std::pair<std::string, std::string>> evidence_text;  // name, text
  std::vector<std::pair<std::string, std::int64_t>> evidence_number;  // name, number
  bool deep_only = false;  // seen in deep steps alone: its counts are of those
  std::optional<Savings> savings;
  std::string fix;
};

}  // namespace castscope::store
