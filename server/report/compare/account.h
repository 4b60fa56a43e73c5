// An account holds what gates and comparisons need to know about a run. It is the same whether it is made from a judged
// run or from that run's report (account_test.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "server/report/findings/since_baseline.h"
#include "server/rules/inquiry/settings.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

struct Model;

// A place where casts happen, known by its code. Several sites of a run may be one place: modules in a loop, stacks
// that differ further out, ranks.
struct AccountSite {
  std::string file, function;  // file as in portable_path
  std::int64_t line = 0;       // 0 = no Python line
  std::string text;            // the line's, normalised; "line 12" where it is not known
  std::string op, argument, phase, cause, from, to;
  std::uint64_t casts = 0, hits = 0, bytes = 0, cpu_ns = 0;
  bool looked_at = true;  // false: no operator was ever looked at there
  // "" where the text is not known.
  std::string_view known_text() const;
  bool operator==(const AccountSite&) const = default;
};

// The dtype that an operator computed in. Products with weights (model/precision.h) tell whether grad mode was on, and
// how often they were called in deep steps; reports of the first castscopes have none of them.
struct AccountPrecision {
  std::string file, function;           // file as in portable_path
  std::string model = {}, module = {};  // "" = no module
  std::string op, computed;
  std::int64_t line = 0;
  bool grad_mode = false;
  std::uint64_t calls = 0;
  std::string half_from = {};  // of other operators, where it is a half: name(HalfFrom)
  bool operator==(const AccountPrecision&) const = default;
  auto operator<=>(const AccountPrecision&) const = default;
};

// A number of the steps (model/metrics.h), of the first process that told it.
struct AccountMetric {
  std::string name;
  std::optional<double> first, last;  // nothing: it is not finite, or did not arrive
  bool operator==(const AccountMetric&) const = default;
};

// A rule that could not judge all of the run (rules/judged_rules.h).
struct AccountRule {
  std::string rule, judged, because;  // judged: "sampled", "partly", "not"
  bool operator==(const AccountRule&) const = default;
};

struct Account {
  std::string name;  // the file that was read
  std::string command, run_folder;
  std::string project;  // file names are relative to it: as RunStart::project()
  bool complete = false;
  std::string damage;         // of a run file that is damaged or cut short
  std::size_t processes = 0;  // with PyTorch in them
  std::string failure;        // how the job ended, when not well: "exit status 1", "signal 11"
  std::vector<std::string> notices;
  std::uint64_t casts = 0, hits = 0, passes = 0, bytes = 0, cpu_ns = 0;
  std::uint64_t cache_peak_bytes = 0, cache_peak_entries = 0;
  std::uint64_t steps = 0;
  std::uint64_t steps_ns = 0;  // the duration of the steps, of all processes together
  std::vector<store::Finding> findings;
  std::vector<std::string> fingerprints;  // of `findings`
  std::vector<std::string> lines;         // of `findings`: the text, normalised; "" where it is not known
  std::uint64_t ignored_by_settings = 0, ignored_in_code = 0;
  std::vector<AccountSite> sites;           // in the report's order
  std::set<std::string> files_with_text;    // as in portable_path: the text of some of their lines is known
  std::vector<AccountPrecision> precision;  // of products with weights
  std::vector<AccountPrecision> operators;  // of all others, but for conversions and backward passes; in order
  std::vector<AccountMetric> metrics;       // in the order of the report
  // Rules that settings select and do not ignore, and that could not judge all of the run, or judged a sample of its
  // steps. Of the first reports none is known.
  std::vector<AccountRule> unjudged, sampled;
  // True if castscope left out a step, or the rest of one, when it looked at the run's operators. Nothing for a report
  // that has no `coverage`.
  std::optional<bool> skipped_steps;
  std::string deep;                // rules::deep_mode(); "" = not known
  bool left_out_new_code = false;  // the budget for looking at operators did not allow it
  bool lacks_sites = false;        // casts belong to no site
  bool is_cut_short = false;       // something was not taken, or the job was killed or failed
  bool lacks_events = false;       // rules that look at events alone could judge a part of the run
};

// Notes the files of which the run has the text of some line.
void note_files_with_text(const store::SourceLines& source, Account& account);

// Puts a rule into `unjudged` or `sampled`; one that judged all of the run, into neither.
void add_rule(Account&, AccountRule);

// Notes the text of the lines of all findings.
void note_lines(const store::SourceLines& source, Account& account);

// Adds a metric, unless one of its name is there.
void add_metric(Account&, AccountMetric);

// Returns true if this reason of an incomplete run cuts its account short. Events that never arrived were counted, at
// their sites. Reasons that a newer castscope gives are taken for the worse.
bool cuts_short(std::string_view incomplete_reason);

// Learns from a rule how much of the run was recorded.
void note_reach(Account&, const AccountRule&);

Account account_of(const Model&, const std::string& name);
// Makes the account of a report. The report's findings are already judged: only the settings that select, silence and
// grade findings apply to them; thresholds do not.
absl::StatusOr<Account> account_of(const nlohmann::ordered_json& report, const std::string& name,
                                   const rules::Settings& settings);
// More than a report has by far, and less than would fill a machine's memory.
inline constexpr std::uint64_t kMostReportBytes = 1ull << 30;
// Makes the account of a file, which is either a run file or a report: its first bytes tell which, and of what is
// neither nothing more is read. A run file is judged by the settings.
absl::StatusOr<Account> read_account(const std::string& file, const rules::Settings& settings);

// Returns true if the rule of this finding would have found it in this run, had it been there: nothing of the run is
// missing; the rule could judge, and looked at that place; and it looked at every step, if it did so in the run that
// the finding is of. (A line that did not cast in a whole run is new, however the run was looked at: casts are seen in
// every step.)
bool could_find(const Account&, const Account& found_in, const store::Finding&);

// Says that the two runs looked at some of their steps by different settings; nothing where they did not. A finding of
// one may then be missing in the other for this reason alone.
std::optional<std::string> how_steps_differ(const Account&, const Account& other);

// Explains in sentences why things that this run does not show may exist all the same. Empty for a run that was seen
// whole and ended well.
std::vector<std::string> why_incomplete(const Account&);

}  // namespace castscope::report
