// castscope.amp opens a region that the job does not write: amp.init() and amp.initialize() do, and keep it open over
// training steps. What is advised about that one is said in the words of its handle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// How the job asked for it: apex's handle, or its later interface, which has none.
enum class AmpHandle : std::uint8_t { kInit, kInitialize };

// Of the region itself; nothing where the job opens it in another way.
std::optional<AmpHandle> amp_handle_of(const store::RunData&, const store::Region&);
// Of the outermost region around this one, by number: that one keeps the cache.
std::optional<AmpHandle> amp_handle_around(const store::RunData&, std::uint32_t region);

// Of a region that this process entered.
std::optional<AmpHandle> amp_handle_in(const store::RunData&, std::uint32_t process);

// "amp_handle.scale_loss(loss, optimizer)"
std::string scaled_loss(AmpHandle);
// "amp_handle._clear_cache()"
std::string clearing_the_cache(AmpHandle);
// "amp.init(enable_caching=False)"
std::string without_the_cache(AmpHandle);
// "amp_handle.disable_casts()": what turns autocast off in a part of the code, in this region (0: in none). Where it is
// the job's own, "torch.autocast(device, enabled=False)".
std::string turned_off(const store::RunData&, std::uint32_t region);
std::string turned_off(const std::optional<AmpHandle>&);

}  // namespace castscope::rules
