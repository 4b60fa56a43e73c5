// Resolves the numbers in events while a run is being recorded: remembers each definition as it comes, with the
// run-wide id that the store has given it.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/store/write/run_store.h"
#include "server/timeline/tracks/numbers.h"

namespace castscope::web {

// Used only by the thread that hands events over.
class LiveNumbers final : public timeline::Numbers {
 public:
  explicit LiveNumbers(store::RunStore& store) : store_(store) {}

  // Returns the process's number in the run; none = it is not known.
  store::ProcessId process(const std::string& key);
  // These are called after the store has taken the definitions.
  void define(const std::string& key, const store::SiteInfo&);
  void define(const std::string& key, const store::RegionInfo&);
  void define(const std::string& key, const store::ModuleInfo&);
  void define(const std::string& key, const store::OperatorUseInfo&);  // after its module
  void define(const std::string& key, const store::Fact&);
  void define(const std::string& key, const store::KernelInfo&);  // after its site and use
  void define(const std::string& /*key*/, const auto&) {}         // events do not refer to other definitions

  const store::Site* site(store::ProcessId process, std::uint32_t local) const override;
  const store::Region* region(store::ProcessId process, std::uint32_t local) const override;
  const store::OperatorUse* operator_use(store::ProcessId process, std::uint32_t local) const override;
  const store::Module* module_of_use(store::ProcessId process, std::uint32_t local) const override;
  store::FactId fact(store::ProcessId process, std::uint32_t local) const override;
  timeline::KernelLook kernel(store::ProcessId process, std::uint32_t local) const override;

 private:
  template <typename T>
  using Known = absl::flat_hash_map<std::uint64_t, T>;  // process << 32 | local
  std::uint64_t place(const std::string& key, std::uint32_t local) { return std::uint64_t{process(key)} << 32 | local; }

  store::RunStore& store_;
  absl::flat_hash_map<std::string, store::ProcessId> processes_;
  Known<store::Site> sites_;
  Known<store::Region> regions_;
  Known<store::OperatorUse> uses_;
  Known<store::Module> modules_;
  Known<std::uint32_t> modules_of_uses_;  // by local number of the use: local number of the module
  Known<store::FactId> facts_;
  Known<timeline::KernelLook> kernels_;
};

}  // namespace castscope::web
