// Events as messages (castscope.proto, Event): they become what a packed block holds, and are checked and kept like it.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "agent/lanes/format.h"
#include "proto/castscope/v1/castscope.pb.h"
#include "proto/event_block.h"

namespace castscope::ingest {

// Appends the events of the block, and each kind and site among them once. An event of no kind is an error.
absl::Status plain_events(const v1::Events& block, std::vector<lanes::Event>* events,
                          std::vector<wire::EventKey>* keys);

}  // namespace castscope::ingest
