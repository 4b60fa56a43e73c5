// The folder in which relays keep what their collectors did not take: CASTSCOPE_SPOOL, or castscope/spool in the user's
// folder for state (XDG_STATE_HOME, ~/.local/state).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/relay/sending/spool.h"

namespace castscope::cli {

// "" where there is no place for it, or CASTSCOPE_SPOOL_BYTES is 0.
std::string spool_folder();

// How much may wait there: CASTSCOPE_SPOOL_BYTES, 1 GB by default.
std::uint64_t most_spool_bytes();
// Says that CASTSCOPE_SPOOL_BYTES is no amount, so that the default counts; "" where nothing is wrong with it.
std::string ignored_spool_bytes();

// The files in it, the oldest first.
std::vector<std::string> spools();

// Makes a file for this relay. All of them together take at most CASTSCOPE_SPOOL_BYTES, 1 GB by default. Files older
// than 30 days make room, and `say` hears of each.
using Say = std::function<void(const std::string&)>;
absl::StatusOr<std::unique_ptr<relay::Spool>> make_spool(const relay::Destination&, const v1::Hello& hello,
                                                         const Say& say);

}  // namespace castscope::cli
