// A checksum over what a batch holds. TCP's is weak, and a program in between may change a byte; of TLS nobody needs
// this.
#pragma once

#include <cstdint>

#include "proto/castscope/v1/castscope.pb.h"

namespace castscope::wire {

// CRC-32 over the fields of the batch in the order of their numbers, as docs/wire.md describes it; never 0. What is
// packed is covered; plain definitions and plain events are not.
std::uint32_t checksum_of(const v1::Batch& batch);

// Whether the batch has no checksum, or the right one.
bool is_intact(const v1::Batch& batch);

}  // namespace castscope::wire
