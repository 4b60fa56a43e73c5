// Which packed event blocks stay in the file that is being written: per process the first ones and the newest, or all.
#pragma once

#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_sink.h"
#include "server/store/write/store_options.h"

namespace castscope::store {

class EventWindow {
 public:
  static absl::StatusOr<EventWindow> on(const Database&, const StoreOptions&);
  absl::Status adopt(const Database&);  // what an earlier life of the file kept
  absl::Status add(ProcessId process, const EventBlock&);

 private:
  enum Kept { kFirst = 1, kNewest = 2 };
  struct Newest {
    std::int64_t id;
    std::size_t bytes;
  };
  struct OfProcess {
    std::int64_t blocks = 0;  // ever added
    std::size_t first_bytes = 0, newest_bytes = 0;
    std::deque<Newest> newest;
  };
  StoreOptions options_;
  Statement add_, remove_;
  std::int64_t next_id_ = 1;
  absl::flat_hash_map<ProcessId, OfProcess> processes_;
};

}  // namespace castscope::store
