// Answers questions that several rules ask about casts that FSDP makes by its mixed-precision policy.
#pragma once

#include <cstdint>

#include "server/store/run/run_data.h"

namespace castscope::rules {

// In this process FSDP cast to one low dtype within an autocast region of another: any halves that meet there, or are
// cast into each other, are these two. fsdp-autocast-conflict reports it.
bool fsdp_and_autocast_differ(const store::RunData&, store::ProcessId process);

}  // namespace castscope::rules
