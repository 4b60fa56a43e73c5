#include "server/web/runs/live_numbers.h"

namespace castscope::web {
namespace {

using store::Numbered;

template <typename Map>
auto at(const Map& known, store::ProcessId process, std::uint32_t local) {
  const auto found = known.find(std::uint64_t{process} << 32 | local);
  return found == known.end() ? nullptr : &found->second;
}

}  // namespace

store::ProcessId LiveNumbers::process(const std::string& key) {
  store::ProcessId& id = processes_[key];
  if (id == 0) id = store::ProcessId(store_.number(key, Numbered::kProcess));
  return id;
}

// Only members that decide how an event looks are kept: the rest is in the run file.
void LiveNumbers::define(const std::string& key, const store::SiteInfo& info) {
  store::Site site;
  site.id = store::SiteId(store_.number(key, Numbered::kSite, info.id));
  site.cause = info.cause;
  site.from = info.from;
  site.to = info.to;
  site.flags = info.flags;
  if (site.id != 0) sites_[place(key, info.id)] = site;
}

void LiveNumbers::define(const std::string& key, const store::RegionInfo& info) {
  store::Region region;
  region.id = store::RegionId(store_.number(key, Numbered::kRegion, info.id));
  region.dtype = info.dtype;
  region.enabled = info.enabled;
  if (region.id != 0) regions_[place(key, info.id)] = region;
}

void LiveNumbers::define(const std::string& key, const store::ModuleInfo& info) {
  modules_[place(key, info.id)] = {
      .path = info.path, .type = {}, .root_type = info.root_type, .root_number = info.root_number};
}

void LiveNumbers::define(const std::string& key, const store::OperatorUseInfo& info) {
  store::OperatorUse use;
  use.id = store::OperatorUseId(store_.number(key, Numbered::kOperatorUse, info.id));
  use.computed = info.computed;
  use.result = info.result;
  if (use.id != 0) uses_[place(key, info.id)] = use;
  if (use.id != 0 && info.module != 0) modules_of_uses_[place(key, info.id)] = info.module;
}

void LiveNumbers::define(const std::string& key, const store::Fact& info) {
  const store::FactId id(store_.number(key, Numbered::kFact, info.id));
  if (id != 0) facts_[place(key, info.id)] = id;
}

void LiveNumbers::define(const std::string& key, const store::KernelInfo& info) {
  timeline::KernelLook look;
  look.id = store::KernelId(store_.number(key, Numbered::kKernel, info.id));
  look.work = info.work;
  look.cast = info.site != 0;
  look.launched_for(site(process(key), info.site), operator_use(process(key), info.use));
  if (look.id != 0) kernels_[place(key, info.id)] = look;
}

const store::Site* LiveNumbers::site(store::ProcessId process, std::uint32_t local) const {
  return at(sites_, process, local);
}
const store::Region* LiveNumbers::region(store::ProcessId process, std::uint32_t local) const {
  return at(regions_, process, local);
}
const store::OperatorUse* LiveNumbers::operator_use(store::ProcessId process, std::uint32_t local) const {
  return at(uses_, process, local);
}
const store::Module* LiveNumbers::module_of_use(store::ProcessId process, std::uint32_t local) const {
  const std::uint32_t* const module = at(modules_of_uses_, process, local);
  return module == nullptr ? nullptr : at(modules_, process, *module);
}
store::FactId LiveNumbers::fact(store::ProcessId process, std::uint32_t local) const {
  const auto found = facts_.find(std::uint64_t{process} << 32 | local);
  return found == facts_.end() ? store::FactId() : found->second;
}
timeline::KernelLook LiveNumbers::kernel(store::ProcessId process, std::uint32_t local) const {
  const timeline::KernelLook* const look = at(kernels_, process, local);
  return look == nullptr ? timeline::KernelLook() : *look;
}

}  // namespace castscope::web
