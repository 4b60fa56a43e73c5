// A checksum over what a batch holds. TCP's is weak, and a program in between may change a byte; of TLS nobody needs
// this.
#pragma once

#include <cstdint>

#include "proto/castscope/v1/castscope.pb.h"

namespace castscope::wire {

// CRC-32 over the fields of the batch in the order of their numbers, as docs/wire.md describes it; never 0. What is
// packed is covered; plain definitions and plain events are not.
std::uint32_t checksum_of(const v1::Batch& batch);

// For the other messages that have a checksum: CRC-32 of the bytes that protobuf writes for the message without it.
// Fields that are added later have higher numbers than it knows, so that both sides write the same. Never 0.
std::uint32_t checksum_of(v1::Hello hello);
std::uint32_t checksum_of(v1::Goodbye goodbye);
std::uint32_t checksum_of(v1::Ack ack);

// Returns true if the checksum is that of the message, or if the sender gave none.
template <typename Message>
bool is_intact(const Message& message) {
  return message.checksum() == 0 || message.checksum() == checksum_of(message);
}

}  // namespace castscope::wire
