#include "server/ingest/run/run_table.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/ingest/validation/bounds.h"

namespace castscope::ingest {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kShortestKey = 16, kLongestKey = 128;
constexpr std::size_t kMostHelloBytes = 1u << 20;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

absl::Status check_size(const v1::Hello& hello) {
  if (hello.ByteSizeLong() <= kMostHelloBytes) return absl::OkStatus();
  return absl::InvalidArgumentError("the hello has more than a megabyte");
}

absl::StatusOr<RunOpening> check_hello(const v1::Hello& hello) {
  if (absl::Status status = check_size(hello); !status.ok()) return status;
  if (!is_plain_name(hello.run_id()))
    return absl::InvalidArgumentError("the run's id is not made of up to 128 letters, digits, dots, dashes and _");
  if (!is_plain_name(hello.relay()))
    return absl::InvalidArgumentError("the relay's id is not made of up to 128 letters, digits, dots, dashes and _");
  if (const std::size_t size = hello.run_key().size(); size != 0 && (size < kShortestKey || size > kLongestKey))
    return absl::InvalidArgumentError(
        absl::StrCat("the run's key has ", size, " bytes, not ", kShortestKey, " to ", kLongestKey));
  if (hello.start_epoch_ns() < 0 || hello.start_epoch_ns() > kLatestStart)
    return absl::InvalidArgumentError(absl::StrCat("the hello says ", hello.start_epoch_ns(),
                                                   " ns for the start of the run, which is not between the years 1970 "
                                                   "and 2200"));
  return RunOpening{.id = hello.run_id(),
                    .name = hello.run_file_name(),
                    .command = {hello.command().begin(), hello.command().end()},
                    .cwd = hello.cwd(),
                    .host = hello.host(),
                    .begin_realtime_ns = hello.start_epoch_ns(),
                    .castscope_version = hello.castscope_version(),
                    .checkout = hello.checkout(),
                    .owner = admission::digest_of(hello.run_key()),
                    .no_source = hello.no_source()};
}

std::shared_ptr<Run> RunTable::find_or_add(RunOpening opening) {
  std::lock_guard lock(mutex_);
  if (const auto found = runs_.find(opening.id); found != runs_.end()) return found->second;
  const std::string id = opening.id;
  const auto run = std::make_shared<Run>(std::move(opening), &keeper_);
  runs_.emplace(id, run);  // last: whoever has no memory for a run leaves none half made
  return run;
}

void RunTable::take_up(RunOpening opening) { (void)find_or_add(std::move(opening))->take_up(); }

void RunTable::close_abandoned(Run::Clock::time_point now, Run::Clock::duration patience) {
  std::vector<std::shared_ptr<Run>> runs;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, run] : runs_) runs.push_back(run);
  }
  for (const std::shared_ptr<Run>& run : runs) run->close_abandoned(now, patience);
  runs.clear();
  std::lock_guard lock(mutex_);
  // Nobody else has the run, so nobody holds its mutex, and nobody can come to it.
  std::erase_if(
      runs_, [now](const auto& entry) { return entry.second.use_count() == 1 && entry.second->can_be_forgotten(now); });
}

std::size_t RunTable::size() const {
  std::lock_guard lock(mutex_);
  return runs_.size();
}

void RunTable::shutdown() {
  std::lock_guard lock(mutex_);
  for (auto& [id, run] : runs_) run->commit_what_came();  // all, before the first is closed: that may take long
  for (auto& [id, run] : runs_) run->shutdown();
}

}  // namespace castscope::ingest
