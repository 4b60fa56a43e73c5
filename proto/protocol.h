// The numbers on which relay and collector must agree before they exchange anything else.
#pragma once

#include <cstdint>

namespace castscope::wire {

// The version of the stream in castscope.proto. A change that an older or newer peer would misread raises it: of the
// messages, of the definition records (lanes/format.h), of the packing of events (kEventBlockFormat).
inline constexpr std::uint32_t kProtocol = 6;

// A batch is cut before it gets this large; the collector refuses a larger message.
inline constexpr int kLargestMessageBytes = 16 << 20;
// 16384 events are 60 KB packed and 1 MB unpacked.
inline constexpr std::uint32_t kMostEventsInMessageBlock = 1u << 16;
inline constexpr std::uint32_t kMostCountersInMessage = 1u << 16;

}  // namespace castscope::wire
