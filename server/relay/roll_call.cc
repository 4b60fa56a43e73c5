#include "server/relay/roll_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace castscope::relay {
namespace {

std::string segment_of(const Call& call) { return absl::StrCat(call.pid, "-", call.segment, ".lanes"); }

constexpr std::size_t kMostOutsiders = 1000;  // every user may send

std::string named(const std::set<pid_t>& pids) {
  const std::string first = *pids.begin() > 0 ? absl::StrCat("process ", *pids.begin())
                                              : std::string("a process with other process numbers than castscope's");
  return pids.size() == 1 ? first : absl::StrCat(first, " (and ", pids.size() - 1, " more)");
}

std::string told_by(castscope_outside_kind kind, uid_t uid, const std::set<pid_t>& pids, const std::string& directory) {
  switch (kind) {
    case CASTSCOPE_OUTSIDE_NOT_THERE:
      return absl::StrCat(named(pids), " has PyTorch and is not recorded, since it has other file systems, without ",
                          directory, ": start castscope in there, before the command");
    case CASTSCOPE_OUTSIDE_NOT_PERMITTED:
      return absl::StrCat(named(pids), " has PyTorch and is not recorded, since it runs as user ", uid, ", and ",
                          directory,
                          " belongs to another user or is open to others: start castscope as this user, before the "
                          "command");
    case CASTSCOPE_OUTSIDE_OWN_RUN:
      return absl::StrCat(named(pids), " has other file systems, without ", directory,
                          ": what it casts is recorded as a run of its own, and is missing from this one");
  }
  return "";
}

}  // namespace

RollCall::RollCall(std::string directory, std::shared_ptr<MadeDirectory> made, std::shared_ptr<Roll> roll,
                   std::string host, const std::string& secret, Clock::duration directory_interval, Listeners listeners)
    : directory_(std::move(directory)),
      host_(std::move(host)),
      made_(made != nullptr ? std::move(made) : std::make_shared<MadeDirectory>(directory_)),
      roll_(std::move(roll)),
      directory_interval_(directory_interval),
      listeners_(std::move(listeners)),
      outside_(Outside::listen(directory_, secret)) {}

void RollCall::look(Clock::time_point now) {
  const std::size_t before = unrecorded_.size();
  take_calls();
  take_outsiders();
  keep_and_say();
  // A process that cannot be recorded is a reason to look at once.
  look_at_directory(unrecorded_.size() > before ? made_->is_there_now() : made_->is_there(now, directory_interval_));
}

void RollCall::take_calls() {
  if (roll_ == nullptr) return;
  for (const Call& call : roll_->take()) {
    const std::string key =
        call.start_ticks == 0 ? "" : absl::StrCat(host_, "/", call.pid, "/", call.start_ticks, "/", call.segment);
    if (call.kind == Call::Kind::kUnrecorded) {
      const auto is_it = [&](const auto& one) { return one.first == call.pid && one.second == key; };
      if (std::ranges::none_of(unrecorded_, is_it)) unrecorded_.emplace_back(call.pid, key), is_kept_ = false;
      continue;
    }
    Called& called = called_[segment_of(call)];
    called = {.times = called.times + 1, .process = key, .pid = call.pid};
  }
}

void RollCall::take_outsiders() {
  if (outside_ == nullptr) return;
  for (const Outsider& one : outside_->take()) {
    std::set<pid_t>& pids = outsiders_[{one.kind, one.uid}];
    const bool first = pids.empty();
    if (pids.size() < kMostOutsiders && pids.insert(one.pid).second) is_kept_ = false;
    if (first) to_say_.push_back(told_by(one.kind, one.uid, pids, directory_));
  }
}

void RollCall::look_at_directory(bool there) {
  if (there || std::exchange(gone_, true) || !listeners_.say) return;
  listeners_.say(
      absl::StrCat("the run directory ", directory_,
                   " was removed or replaced while the job is recorded: the job goes on, and what processes cast that "
                   "begin from now on is not recorded"));
}

std::vector<Missing> RollCall::unrecorded() const {
  std::vector<Missing> all;
  for (const auto& [pid, process] : unrecorded_)
    all.push_back({.kind = Missing::Kind::kUnrecorded,
                   .process = process,
                   .sentence = absl::StrCat("process ", pid,
                                            " has PyTorch and could not be recorded, or not to its end: what it cast "
                                            "from then on is missing")});
  for (const auto& [what, pids] : outsiders_)
    all.push_back({.kind = Missing::Kind::kUnrecorded,
                   .process = "",
                   .sentence = told_by(what.first, what.second, pids, directory_)});
  return all;
}

// What was said is kept by then, whatever happens next.
void RollCall::keep_and_say() {
  if (!std::exchange(is_kept_, true) && listeners_.keep_missing) {
    std::vector<std::string> sentences;
    for (Missing& one : unrecorded()) sentences.push_back(std::move(one.sentence));
    listeners_.keep_missing(sentences);
  }
  for (const std::string& sentence : std::exchange(to_say_, {}))
    if (listeners_.say) listeners_.say(sentence);
}

std::vector<Missing> RollCall::end() {
  take_calls();
  take_outsiders();
  keep_and_say();
  look_at_directory(made_->is_there_now());
  std::vector<Missing> all;
  const auto add = [&](Missing::Kind kind, const std::string& process, const std::string& sentence) {
    all.push_back({.kind = kind, .process = process, .sentence = sentence});
  };
  if (gone_) {
    add(Missing::Kind::kRunDirectory, "",
        absl::StrCat(
            "the run directory ", directory_,
            " was removed or replaced while the run was recorded: what processes cast that began after that, or "
            "whose record had not been found yet, is not in it"));
  }
  for (const auto& [segment, called] : called_) {
    if (found_[segment] >= called.times) continue;
    add(Missing::Kind::kProcess, called.process,
        absl::StrCat("process ", called.pid, " has cast, and its record ", segment,
                     " was not found in the run directory: its casts are missing"));
  }
  for (Missing& one : unrecorded()) all.push_back(std::move(one));
  if (roll_ != nullptr && roll_->lost() > 0) {
    add(Missing::Kind::kProcess, "",
        absl::StrCat(roll_->lost(),
                     " times a process could not tell of its record: it is not known whether all were found"));
  }
  if (roll_ != nullptr) roll_->run_is_over();
  return all;
}

}  // namespace castscope::relay
