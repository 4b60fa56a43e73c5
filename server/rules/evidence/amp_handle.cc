#include "server/rules/evidence/amp_handle.h"

#include "server/rules/evidence/places/places.h"

namespace castscope::rules {

// The frames of castscope.amp lie between PyTorch's and the job's (agent/python/castscope/amp).
std::optional<AmpHandle> amp_handle_of(const store::RunData& data, const store::Region& region) {
  std::optional<AmpHandle> handle;
  for (const store::CodeLocation& frame : frames_of(data, region.stack)) {
    if (store::is_users_own(frame, data.torch_folders)) break;
    if (frame.file.ends_with("/castscope/amp/handle.py")) handle = handle.value_or(AmpHandle::kInit);
    if (frame.file.ends_with("/castscope/amp/levels.py") && handle) handle = AmpHandle::kInitialize;
  }
  return handle;
}

std::optional<AmpHandle> amp_handle_around(const store::RunData& data, store::RegionId region) {
  if (region == 0) return std::nullopt;
  while (data.regions[region].parent != 0) region = data.regions[region].parent;
  return amp_handle_of(data, data.regions[region]);
}

std::optional<AmpHandle> amp_handle_in(const store::RunData& data, store::ProcessId process) {
  for (const store::RegionUse& use : data.region_uses) {
    if (use.process != process) continue;
    if (const auto handle = amp_handle_of(data, data.regions[use.region])) return handle;
  }
  return std::nullopt;
}

std::string scaled_loss(AmpHandle handle) {
  return handle == AmpHandle::kInit ? "amp_handle.scale_loss(loss, optimizer)" : "amp.scale_loss(loss, optimizer)";
}

std::string clearing_the_cache(AmpHandle handle) {
  return handle == AmpHandle::kInit ? "amp_handle._clear_cache()" : "torch.clear_autocast_cache()";
}

std::string without_the_cache(AmpHandle handle) {
  return handle == AmpHandle::kInit ? "amp.init(enable_caching=False)"
                                    : "amp.init(enable_caching=False) in place of amp.initialize()";
}

std::string turned_off(const store::RunData& data, store::RegionId region) {
  return turned_off(amp_handle_around(data, region));
}

std::string turned_off(const std::optional<AmpHandle>& handle) {
  return handle == AmpHandle::kInit ? "amp_handle.disable_casts()" : "torch.autocast(device, enabled=False)";
}

}  // namespace castscope::rules
