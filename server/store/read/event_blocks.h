// The packed event blocks of a run file, and what the numbers in their events mean.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace castscope::store {

struct KeptBlock {
  std::uint32_t process = 0, lane = 0;
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
  std::uint32_t process = 0, lane = 0;
  std::int64_t first_ns = 0, last_ns = 0;
};
absl::Status read_event_blocks_in(const std::string& path, const BlockRange& range,
                                  const std::function<absl::Status(const KeptBlock&)>& take);

// Events speak of sites, regions, operator uses and facts by the numbers of their process: this has the run-wide ones
// (0 = not known).
class LocalNumbers {
 public:
  static absl::StatusOr<LocalNumbers> read(const std::string& path);
  std::uint32_t site(std::uint32_t process, std::uint32_t local) const { return find(sites_, process, local); }
  std::uint32_t region(std::uint32_t process, std::uint32_t local) const { return find(regions_, process, local); }
  std::uint32_t operator_use(std::uint32_t process, std::uint32_t local) const { return find(uses_, process, local); }
  std::uint32_t fact(std::uint32_t process, std::uint32_t local) const { return find(facts_, process, local); }
  std::uint32_t kernel(std::uint32_t process, std::uint32_t local) const { return find(kernels_, process, local); }

 private:
  using Numbers = absl::flat_hash_map<std::uint64_t, std::uint32_t>;  // process << 32 | local
  static std::uint32_t find(const Numbers& numbers, std::uint32_t process, std::uint32_t local) {
    const auto it = numbers.find(std::uint64_t{process} << 32 | local);
    return it == numbers.end() ? 0 : it->second;
  }
  Numbers sites_, regions_, uses_, facts_, kernels_;
};

}  // namespace castscope::store
