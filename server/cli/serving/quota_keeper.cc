#include "server/cli/serving/quota_keeper.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace castscope::cli {
namespace {

using How = ingest::EventsWanted::How;
using std::chrono::milliseconds;

constexpr double kBurstSeconds = 10;  // an unused quota is kept for so long
constexpr milliseconds kLongestPause{2000}, kBetweenLooks{1000};
constexpr double kNearTheBound = 0.9;  // a relay is told in time
// What a sender may be ahead of its events per second before no more are taken: some batches that were under way, and
// what came over an outage. A relay that is asked to hold its events does not get there.
constexpr double kMostSecondsAhead = 600, kMostEventsAhead = 4e6;

std::string who(const std::string& sender) {
  return sender.empty() ? "this sender" : absl::StrCat("the sender \"", sender, "\"");
}

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

QuotaKeeper::QuotaKeeper(admission::Quotas usual, std::function<std::uint64_t(const std::string&)> bytes_of)
    : usual_(usual), bytes_of_(std::move(bytes_of)) {}

admission::Quotas QuotaKeeper::quotas_of(const std::string& token, const admission::Quotas& otherwise) const {
  const admission::Token* const known = tokens_.find(token);
  return known != nullptr ? known->quotas.value_or(usual_) : otherwise;
}

void QuotaKeeper::change(admission::Tokens tokens, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(tokens);
  std::set<std::string> changed;  // senders; all runs of one share what it may send
  for (auto& [id, run] : runs_) {
    const admission::Quotas quotas = quotas_of(run.token, run.quotas);
    const bool is_other = quotas.events_per_second != run.quotas.events_per_second;
    if (is_other && changed.insert(run.sender).second) change_rate(senders_[run.sender], run.quotas, quotas, now);
    run.quotas = quotas;
  }
}

// What it has saved or owes is reckoned with the rate that held until now. A debt is paid off in as much time as before
// at most: what came under a large quota does not silence the sender for hours under a small one.
void QuotaKeeper::change_rate(Sender& sender, const admission::Quotas& from, const admission::Quotas& to,
                              Clock::time_point now) {
  if (from.events_per_second == 0 || to.events_per_second == 0) {
    sender.events_left = 0, sender.filled_at = {};
    return;
  }
  fill(sender, from, now);
  if (sender.events_left < 0 && to.events_per_second < from.events_per_second)
    sender.events_left *= static_cast<double>(to.events_per_second) / static_cast<double>(from.events_per_second);
}

void QuotaKeeper::belongs_to(const ingest::RunOpening& opening, Run& run) {
  if (run.sender != opening.sender) leave(opening.id, run);
  run.quotas = quotas_of(opening.token, opening.token == run.token ? run.quotas : usual_);
  run.sender = opening.sender, run.token = opening.token;
  // In the order in which they began, and not in that in which they ask.
  if (run.quotas.open_runs > 0) (void)has_place(opening.id, senders_[run.sender], run.quotas.open_runs);
}

void QuotaKeeper::opened(const ingest::RunOpening& run) {
  const std::lock_guard lock(mutex_);
  belongs_to(run, runs_.try_emplace(run.id, Run{.quotas = usual_}).first->second);
}

void QuotaKeeper::let_in(const ingest::RunOpening& run) {
  const std::lock_guard lock(mutex_);
  if (const auto known = runs_.find(run.id); known != runs_.end()) belongs_to(run, known->second);
}

void QuotaKeeper::leave(const std::string& run_id, const Run& run) {
  if (const auto sender = senders_.find(run.sender); sender != senders_.end())
    std::erase(sender->second.open_runs, run_id);
}

void QuotaKeeper::closed(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  const auto run = runs_.find(run_id);
  if (run == runs_.end()) return;
  leave(run_id, run->second);
  runs_.erase(run);
}

// Where there are more runs than places since these became fewer, those that have sent the longest keep theirs.
bool QuotaKeeper::has_place(const std::string& run_id, Sender& sender, std::uint64_t places) {
  const auto found = std::ranges::find(sender.open_runs, run_id);
  const auto before = static_cast<std::uint64_t>(found - sender.open_runs.begin());
  if (before >= places) return false;
  if (found == sender.open_runs.end()) sender.open_runs.push_back(run_id);
  return true;
}

void QuotaKeeper::fill(Sender& sender, const admission::Quotas& quotas, Clock::time_point now) {
  const auto rate = static_cast<double>(quotas.events_per_second), most = rate * kBurstSeconds;
  const std::chrono::duration<double> since = now - sender.filled_at;
  const bool is_new = sender.filled_at == Clock::time_point();
  sender.events_left = is_new ? most : std::min(most, sender.events_left + rate * since.count());
  sender.filled_at = now;
}

void QuotaKeeper::look_at_file(const std::string& run_id, Run& run, Clock::time_point now) const {
  if (run.asked_at != Clock::time_point() && now - run.asked_at < kBetweenLooks) return;
  run.asked_at = now;
  run.bytes = bytes_of_(run_id);
}

ingest::EventsWanted QuotaKeeper::wanted(const std::string& run_id, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(run_id);
  if (found == runs_.end()) return {};
  ingest::EventsWanted answer = events_of(run_id, found->second, now);
  answer.most_definition_bytes = found->second.quotas.bytes_per_run;
  return answer;
}

ingest::EventsWanted QuotaKeeper::events_of(const std::string& run_id, Run& run, Clock::time_point now) {
  const admission::Quotas& quotas = run.quotas;
  if (quotas == admission::Quotas()) return {};
  Sender& sender = senders_[run.sender];
  if (quotas.bytes_per_run > 0) {
    look_at_file(run_id, run, now);
    const auto sentence =
        absl::StrCat("the collector keeps ", megabytes(quotas.bytes_per_run), " MB of a run of ", who(run.sender),
                     ", and has them: counts go on, and single "
                     "events are not taken any more");
    if (run.bytes >= quotas.bytes_per_run) return {.how = How::kNone, .why = sentence};
    if (static_cast<double>(run.bytes) >= kNearTheBound * static_cast<double>(quotas.bytes_per_run))
      return {.how = How::kHold, .why = sentence};
  }
  if (quotas.open_runs > 0 && !has_place(run_id, sender, quotas.open_runs))
    return {
        .how = How::kHold,
        .why = absl::StrCat("the collector takes the single events of ", quotas.open_runs, " runs of ", who(run.sender),
                            " at once: while there were as many others, this one sent counts "
                            "alone")};
  if (quotas.events_per_second == 0) return {};
  fill(sender, quotas, now);
  if (sender.events_left > 0) return {};
  const double most_ahead =
      std::max(kMostEventsAhead, kMostSecondsAhead * static_cast<double>(quotas.events_per_second));
  return {.how = -sender.events_left > most_ahead ? How::kNone : How::kHold,
          .why = absl::StrCat("the collector takes ", quotas.events_per_second, " single events a second of ",
                              who(run.sender), ": what was more was dropped, or not taken, and counted")};
}

milliseconds QuotaKeeper::taken(const std::string& run_id, const ingest::Taken& taken, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto run = runs_.find(run_id);
  if (run == runs_.end() || run->second.quotas.events_per_second == 0 || taken.events == 0) return milliseconds(0);
  Sender& sender = senders_[run->second.sender];
  fill(sender, run->second.quotas, now);
  sender.events_left -= static_cast<double>(taken.events);
  if (sender.events_left >= 0) return milliseconds(0);
  const double seconds = -sender.events_left / static_cast<double>(run->second.quotas.events_per_second);
  return std::min(kLongestPause, milliseconds(static_cast<std::int64_t>(std::min(seconds, 1e3) * 1e3)));
}

}  // namespace castscope::cli
