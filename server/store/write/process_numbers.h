// The numbers that one process gave to what it defined, and what they are in the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/store/run/numbered.h"
#include "server/store/write/run_tables.h"

namespace castscope::store {

class ProcessNumbers {
 public:
  ProcessNumbers(RunTables* tables, std::uint32_t process, std::string key)
      : tables_(tables), process_(process), key_(std::move(key)) {}
  absl::Status adopt(const Database&, const RunData&);

  absl::Status stack(const StackInfo&);
  absl::Status module(const ModuleInfo&);
  absl::Status region(const RegionInfo&);
  // `moved`: it was taken for another process's call site and is not.
  absl::Status call_site(const CallSiteInfo&, bool* moved);
  void site(std::uint32_t local, std::uint32_t number) { set(sites_, local, number); }

  // The run-wide number, 0 for 0; an error for what was never defined.
  absl::Status find_stack(std::uint32_t local, std::uint32_t* n) const { return find("stack", local, stacks_, n); }
  absl::Status find_module(std::uint32_t local, std::uint32_t* n) const { return find("module", local, modules_, n); }
  absl::Status find_region(std::uint32_t local, std::uint32_t* n) const { return find("region", local, regions_, n); }
  absl::Status find_site(std::uint32_t local, std::uint32_t* n) const { return find("site", local, sites_, n); }
  absl::Status find_call_site(std::uint32_t local, std::uint32_t* n) const {
    return find("call site", local, call_sites_, n);
  }
  std::uint32_t site_or_0(std::uint32_t local) const { return local < sites_.size() ? sites_[local] : 0; }
  std::uint32_t region_or_0(std::uint32_t local) const { return local < regions_.size() ? regions_[local] : 0; }
  bool is_outermost(std::uint32_t local_region) const {
    return outermost_[local_region];
  }  // of a region that was found
  // Numbers of a process are dense; this only keeps a broken one from making us allocate without end.
  absl::Status check(const char* what, std::uint32_t local) const;

 private:
  using Numbers = std::vector<std::uint32_t>;  // by the number the process gave; 0 = not told yet
  static void set(Numbers& numbers, std::uint32_t local, std::uint32_t number);
  absl::Status find(const char* what, std::uint32_t local, const Numbers& numbers, std::uint32_t* number) const;

  RunTables* tables_;
  std::uint32_t process_;
  std::string key_;
  Numbers stacks_, modules_, call_sites_, regions_, sites_;
  std::vector<bool> outermost_;  // by local region
};

}  // namespace castscope::store
