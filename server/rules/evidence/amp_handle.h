// castscope.amp opens a region that the job does not write itself: amp.init() and amp.initialize() open it and keep it
// open over training steps. Advice about that region is given in the terms of its handle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// The interface by which the job asked for it: apex's handle, or apex's later interface, which has no handle.
enum class AmpHandle : std::uint8_t { kInit, kInitialize };

// Returns the interface that opened this region; nothing where the job opens it in another way.
std::optional<AmpHandle> amp_handle_of(const store::RunData&, const store::Region&);
// Returns the interface that opened the outermost region around this one: that region keeps the cache.
std::optional<AmpHandle> amp_handle_around(const store::RunData&, store::RegionId region);

// Returns the interface that opened a region which this process entered.
std::optional<AmpHandle> amp_handle_in(const store::RunData&, store::ProcessId process);

// Returns "amp_handle.scale_loss(loss, optimizer)".
std::string scaled_loss(AmpHandle);
// Returns "amp_handle._clear_cache()".
std::string clearing_the_cache(AmpHandle);
// Returns "amp.init(enable_caching=False)".
std::string without_the_cache(AmpHandle);
// Returns the code that turns autocast off for a part of this region (0: of no region): "amp_handle.disable_casts()",
// or "torch.autocast(device, enabled=False)" where the region is the job's own.
std::string turned_off(const store::RunData&, store::RegionId region);
std::string turned_off(const std::optional<AmpHandle>&);

}  // namespace castscope::rules
