// The definitions of a run: each content is stored once and has one run-wide number, whichever process brought it.
// Content refers to other definitions by their run-wide numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

class Definitions {
 public:
  static absl::StatusOr<Definitions> on(const Database&);
  // Takes over what an earlier life of the file defined.
  absl::Status adopt(const Database&, const RunData&);

  // Stacks defined from here on take code below this folder for PyTorch's own.
  void torch_folder(const std::string& folder);
  absl::StatusOr<StackId> stack(const StackInfo&);
  absl::StatusOr<ModuleId> module(const Module&);
  // A call site the process has not told of yet.
  absl::StatusOr<CallSiteId> call_site(const CallSite&);
  // More is known of call site `id`. The same number when what is known agrees, or a new one when another process's
  // call site of the same address turned out to be something else.
  absl::StatusOr<CallSiteId> refine(CallSiteId id, const CallSite&);
  absl::StatusOr<RegionId> region(const Region&);
  absl::StatusOr<SiteId> site(Site);

  const Region& region_at(RegionId id) const { return regions_[id]; }
  const Site& site_at(SiteId id) const { return sites_[id]; }
  RegionId outermost(RegionId region) const;

 private:
  absl::StatusOr<std::uint32_t> code(const CodeLocation&);
  absl::StatusOr<CallSiteId> add_call_site(const CallSite&, std::string key);

  template <typename Number>
  using ByContent = absl::flat_hash_map<std::string, Number>;
  ByContent<std::uint32_t> code_numbers_;
  ByContent<StackId> stack_ids_;
  ByContent<ModuleId> module_ids_;
  ByContent<CallSiteId> call_site_ids_;
  ByContent<RegionId> region_ids_;
  ByContent<SiteId> site_ids_;
  std::vector<std::string> torch_folders_;
  Table<CallSite> call_sites_;
  Table<Region> regions_;
  Table<Site> sites_;
  Statement add_code_, add_stack_, add_frame_, add_module_, add_call_site_, change_call_site_, add_region_, add_site_;
  Statement change_site_operator_;
};

}  // namespace castscope::store
