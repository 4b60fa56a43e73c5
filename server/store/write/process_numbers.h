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
  ProcessNumbers(RunTables* tables, ProcessId process, std::string key)
      : tables_(tables), process_(process), key_(std::move(key)) {}
  absl::Status adopt(const Database&, const RunData&);

  absl::Status stack(const StackInfo&);
  absl::Status module(const ModuleInfo&);
  absl::Status region(const RegionInfo&);
  // `moved`: it was taken for another process's call site and is not.
  absl::Status call_site(const CallSiteInfo&, bool* moved);
  void site(std::uint32_t local, SiteId number);

  // The run-wide number, none for 0; an error for what was never defined.
  absl::Status find(std::uint32_t local, StackId*) const;
  absl::Status find(std::uint32_t local, ModuleId*) const;
  absl::Status find(std::uint32_t local, RegionId*) const;
  absl::Status find(std::uint32_t local, SiteId*) const;
  absl::Status find(std::uint32_t local, CallSiteId*) const;
  SiteId site_or_0(std::uint32_t local) const { return local < sites_.size() ? sites_[local] : SiteId(); }
  RegionId region_or_0(std::uint32_t local) const { return local < regions_.size() ? regions_[local] : RegionId(); }
  bool is_outermost(std::uint32_t local_region) const {
    return outermost_[local_region];
  }  // of a region that was found
  // Numbers of a process are dense; this only keeps a broken one from making us allocate without end.
  absl::Status check(const char* what, std::uint32_t local) const;

 private:
  template <typename T>
  using Numbers = std::vector<Id<T>>;  // by the number the process gave; none = not told yet
  template <typename T>
  static void set(Numbers<T>& numbers, std::uint32_t local, Id<T> number);
  template <typename T>
  absl::Status adopt(const Database&, const char* what, const char* sql, const Table<T, T>&, Numbers<T>&);
  template <typename T>
  absl::Status find(const char* what, std::uint32_t local, const Numbers<T>& numbers, Id<T>* number) const;

  RunTables* tables_;
  ProcessId process_;
  std::string key_;
  Numbers<Stack> stacks_;
  Numbers<Module> modules_;
  Numbers<CallSite> call_sites_;
  Numbers<Region> regions_;
  Numbers<Site> sites_;
  std::vector<bool> outermost_;  // by local region
};

}  // namespace castscope::store
