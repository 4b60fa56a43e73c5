// The numbers on which relay and collector must agree before they exchange anything else.
#pragma once

#include <cstdint>

namespace castscope::wire {

// The versions of the stream in castscope.proto. A change that an older or newer peer would misread raises kProtocol:
// of the messages, of the definition records (lanes/format.h), of the packing of events (kEventBlockFormat). Where an
// older peer would misread what the relay sends, kOldestProtocol becomes the same; else both sides go on speaking the
// older ones too, and each pair takes the highest that both know. 7: plain definitions and events, Hello.acknowledged,
// and a status that says why a stream ends; the relay uses none of these where the collector has 6.
inline constexpr std::uint32_t kProtocol = 7, kOldestProtocol = 6;
inline constexpr std::uint32_t kTellsAcknowledged = 7;  // from this one on Hello.acknowledged is told

// The collector puts this into the trailing metadata of a stream that it ends with UNAVAILABLE itself: gRPC has the
// same status for a collector that cannot be reached.
inline constexpr char kTryAgain[] = "castscope-try-again";

// A batch is cut before it gets this large; the collector refuses a larger message.
inline constexpr int kLargestMessageBytes = 16 << 20;
// A relay refuses a larger message of a collector. gRPC's clients have this limit by default.
inline constexpr int kLargestAnswerBytes = 4 << 20;
// 16384 events are 60 KB packed and 1 MB unpacked.
inline constexpr std::uint32_t kMostEventsInMessageBlock = 1u << 16;
// A hundred bytes may be a block of 65,536 events, and a collector is at work for each. Batches of castscope's relay
// have half as many at most.
inline constexpr std::uint32_t kMostEventsInBatch = 1u << 20;
inline constexpr std::uint32_t kMostCountersInMessage = 1u << 16;

}  // namespace castscope::wire
