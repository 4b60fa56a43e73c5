// The packed event blocks of a run file, and what the numbers in their events mean.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/run/ids.h"

namespace castscope::store {

struct KeptBlock {
  ProcessId process = {};
  std::uint32_t lane = 0;
  bool after_gap = false;  // blocks of this process before it are not in the file
  std::string_view packed;
};
// Calls `take` for each block of a run file, in the order received. Data loss: of a file that is damaged or cut short,
// the blocks before the damage were given.
absl::Status read_event_blocks(const std::string& path, const std::function<absl::Status(const KeptBlock&)>& take);
// The same by the time of their first event: blocks of a lane that casts seldom are handed over late, and merged when
// the file is closed. `settled_ns`: nothing of this process up to then is still to come, until the next gap.
absl::Status read_event_blocks_by_time(
    const std::string& path, const std::function<absl::Status(const KeptBlock&, std::int64_t settled_ns)>& take);

// The kept blocks of one lane that hold events of this stretch; times are ns since the process's begin.
struct BlockRange {
  ProcessId process = {};
  std::uint32_t lane = 0;
  std::int64_t first_ns = 0, last_ns = 0;
};
absl::Status read_event_blocks_in(const std::string& path, const BlockRange& range,
                                  const std::function<absl::Status(const KeptBlock&)>& take);

// Events speak of sites, regions, operator uses and facts by the numbers of their process: this has the run-wide ones
// (none = not known).
class LocalNumbers {
 public:
  static absl::StatusOr<LocalNumbers> read(const std::string& path);
  SiteId site(ProcessId process, std::uint32_t local) const { return find(sites_, process, local); }
  RegionId region(ProcessId process, std::uint32_t local) const { return find(regions_, process, local); }
  OperatorUseId operator_use(ProcessId process, std::uint32_t local) const { return find(uses_, process, local); }
  FactId fact(ProcessId process, std::uint32_t local) const { return find(facts_, process, local); }
  KernelId kernel(ProcessId process, std::uint32_t local) const { return find(kernels_, process, local); }

 private:
  template <typename T>
  using Numbers = absl::flat_hash_map<std::uint64_t, Id<T>>;  // process << 32 | local
  template <typename T>
  static Id<T> find(const Numbers<T>& numbers, ProcessId process, std::uint32_t local) {
    const auto it = numbers.find(std::uint64_t{process} << 32 | local);
    return it == numbers.end() ? Id<T>() : it->second;
  }
  Numbers<Site> sites_;
  Numbers<Region> regions_;
  Numbers<OperatorUse> uses_;
  Numbers<Fact> facts_;
  Numbers<Kernel> kernels_;
};

}  // namespace castscope::store
