// Finds where a finding lies in time: at the first event of its line.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::web {

struct FirstEvent {
  std::int64_t time = 0;
  std::uint32_t track = 0;
};

// The first events of one run, by the fingerprint of a finding. The first event at a line never changes, and finding it
// takes a search through all events, so each is searched for once.
class FirstEvents {
 public:
  std::optional<FirstEvent> find(const std::string& fingerprint) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(fingerprint);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void remember(const std::string& fingerprint, const FirstEvent& event) {
    const std::lock_guard lock(mutex_);
    known_[fingerprint] = event;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, FirstEvent> known_;
};

// The sites, operator uses and regions of a run, by line.
class Lines {
 public:
  struct Ids {
    std::vector<store::SiteId> sites;
    std::vector<store::OperatorUseId> uses;
    std::vector<store::RegionId> regions;
  };
  explicit Lines(const store::RunData& run);
  // Returns what is at the finding's line, or if nothing is, at the first of its related places that has something;
  // null if none has.
  const Ids* of(const store::Finding& finding) const;

 private:
  std::map<std::pair<std::string, std::int64_t>, Ids> lines_;
};

std::optional<FirstEvent> first_event(const Lines::Ids& ids, const timeline::Timeline& timeline);

}  // namespace castscope::web
