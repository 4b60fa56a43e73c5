// Which processes a run may have. validator.cc checks what each of them sends.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/ingest/validation/record.h"
#include "server/ingest/validation/validator.h"

namespace castscope::ingest {
namespace {

constexpr std::size_t kMostProcesses = 1u << 16;
constexpr std::size_t kMostWithoutRoom = 1u << 12;
constexpr std::size_t kLongestProcessKey = 4096;

bool is_name(const std::string& process_key) {
  return !process_key.empty() && process_key.size() <= kLongestProcessKey;
}

}  // namespace

ProcessValidator& RunValidator::find_or_add(const std::string& key) {
  std::unique_ptr<ProcessValidator>& process = processes_[key];
  if (process == nullptr) process = std::make_unique<ProcessValidator>(key, &sums_);
  return *process;
}

void RunValidator::adopt(const store::EarlierLife& earlier) {
  for (const store::ProcessInfo& info : earlier.processes) find_or_add(info.key).adopt(info);
  for (const store::Incomplete& one : earlier.rejected) find_or_add(one.process).adopt_rejection(one.sentence);
}

// Of a run whose definitions have no room left, fewer are remembered: each has a key of up to 4 kB.
bool RunValidator::has_room() const {
  return processes_.size() < (sums_.room_for_definitions() > 0 ? kMostProcesses : kMostWithoutRoom);
}

bool RunValidator::knows(const std::string& key) const {
  return !is_name(key) || processes_.contains(key) || too_many_ || !has_room();
}

Verdict RunValidator::apply(const v1::Batch& batch, store::RunSink& sink, bool take_events) {
  if (!is_name(batch.process_key()))
    return {.rejected = invalid("a batch without the name of its process came, or with one of thousands of letters; it "
                                "was not taken"),
            .reason = store::IncompleteReason::kBatchRejected,
            .failed = {}};
  if (!has_room() && !processes_.contains(batch.process_key())) {
    if (std::exchange(too_many_, true)) return {};
    return {.rejected = invalid(absl::StrCat("process ", batch.process_key(),
                                             " is one too many for a run; it is ignored, "
                                             "and so are all that follow")),
            .failed = {}};
  }
  return find_or_add(batch.process_key()).apply(batch, sink, take_events);
}

}  // namespace castscope::ingest
