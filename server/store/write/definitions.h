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
  absl::StatusOr<std::uint32_t> stack(const StackInfo&);
  absl::StatusOr<std::uint32_t> module(const Module&);
  // A call site the process has not told of yet.
  absl::StatusOr<std::uint32_t> call_site(const CallSite&);
  // More is known of call site `id`. The same number when what is known agrees, or a new one when another process's
  // call site of the same address turned out to be something else.
  absl::StatusOr<std::uint32_t> refine(std::uint32_t id, const CallSite&);
  absl::StatusOr<std::uint32_t> region(const Region&);
  absl::StatusOr<std::uint32_t> site(Site);

  const Region& region_at(std::uint32_t id) const { return regions_[id - 1]; }
  const Site& site_at(std::uint32_t id) const { return sites_[id - 1]; }
  std::uint32_t outermost(std::uint32_t region) const;

 private:
  absl::StatusOr<std::uint32_t> code(const CodeLocation&);
  absl::StatusOr<std::uint32_t> add_call_site(const CallSite&, std::string key);

  using Numbers = absl::flat_hash_map<std::string, std::uint32_t>;  // content → number
  Numbers code_numbers_, stack_numbers_, module_numbers_, call_site_numbers_, region_numbers_, site_numbers_;
  std::vector<std::string> torch_folders_;
  std::vector<CallSite> call_sites_;
  std::vector<Region> regions_;
  std::vector<Site> sites_;
  Statement add_code_, add_stack_, add_frame_, add_module_, add_call_site_, change_call_site_, add_region_, add_site_;
  Statement change_site_operator_;
};

}  // namespace castscope::store
