// Checks the settings of a collector before it starts. The check makes no file and opens no port.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "server/admission/door.h"
#include "server/cli/serving/serve_config.h"
#include "server/ingest/listening/options.h"

namespace castscope::cli {

// The files of tokens and TLS, the addresses, the folder. The error is a sentence about what in the settings cannot be
// used, with its place in their file.
absl::Status check(const ServeConfig& config);

// How such a collector listens for relays.
ingest::Options listen_options(const ServeConfig& config, std::shared_ptr<admission::Door> door);

}  // namespace castscope::cli
