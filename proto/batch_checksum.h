// A checksum over what a batch holds. TCP's is weak, and a program in between may change a byte; of TLS nobody needs
// this.
#pragma once

#include <cstdint>

#include "proto/castscope/v1/castscope.pb.h"

namespace castscope::wire {

// CRC-32 over the fields of the batch in the order of their numbers, as docs/wire.md describes it; never 0. What is
// packed is covered; plain definitions and plain events are not.
std::uint32_t checksum_of(const v1::Batch& batch);

// Of the other messages that must not be mistaken: CRC-32 of the message as protobuf writes it, without the checksum.
// Fields that are added later have higher numbers than it knows, so that both sides write the same. Never 0.
std::uint32_t checksum_of(v1::Hello hello);
std::uint32_t checksum_of(v1::Goodbye goodbye);
std::uint32_t checksum_of(v1::Ack ack);

// Whether the message has no checksum, or the right one.
template <typename Message>
bool is_intact(const Message& message) {
  return message.checksum() == 0 || message.checksum() == checksum_of(message);
}

}  // namespace castscope::wire
