// The packed form in which events travel and rest. Collector and run file keep the same bytes.
//
// A training loop repeats itself, so an event is written as its difference from what the block so far predicts: the
// site that followed this one last time, the shape, tensor and version that this site had last time, the usual delay
// and duration of this site. Both ends keep the same model (event_block_model.h) and start it empty in each
// block, so that every block can be read alone.
//
//   byte     format, kEventBlockFormat
//   4 bytes  CRC-32 of all that follows, lowest byte first
//   varint   events n
//   varint   bytes of all columns before compression
//   varint   bytes of the bit stream
//   zstd     columns, each as varint length + bytes: codes, keys, masks, widths, values (enum Column)
//   bytes    bit stream: times, durations, tensors below their highest bit; noise, stored as it is
//
// Lossless but for Event::reserved, which comes back as 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/lanes/format.h"

namespace castscope::wire {

// Any change of what pack writes raises this number, and kProtocol and kOldestProtocol with it: an older block is then
// refused by its number. 3: the events of deep steps, whose `tensor` is not an address. 4: operators, which are told
// when they end.
inline constexpr std::uint8_t kEventBlockFormat = 4;
// unpack refuses a block with more events than this, whatever its caller allows: 64 MB of events.
inline constexpr std::size_t kMostEventsInBlock = 1u << 20;

// The checksum covers the bytes from here on.
inline constexpr std::size_t kBodyBegin = 5;
// For a block of at least kBodyBegin bytes.
std::uint32_t body_checksum(std::string_view packed);
// Writes the checksum into the block. (Tests damage what is below it.)
void seal(std::string& packed);

// Returns true if the event's kind is known, and its time and its bytes are small enough for a run file.
bool is_possible(const lanes::Event& event);

// Never fails for up to kMostEventsInBlock events of a known kind.
std::string pack(std::span<const lanes::Event> events);

// A kind and site that the block has events of: each pair once, in order of first appearance.
struct EventKey {
  lanes::EventKind kind{};
  std::uint32_t site = 0;
  bool operator==(const EventKey&) const = default;
};

// Appends the events of `packed` to `events`. Fails, with a sentence and `events` as it was: for a block of another
// format (Unimplemented), for anything that pack does not make and for more than `limit` events (InvalidArgument);
// memory is bounded by `limit` whatever the bytes say. Every kind in the result is one of the closed list. `keys` may
// be null.
absl::Status unpack(std::string_view packed, std::size_t limit, std::vector<lanes::Event>* events,
                    std::vector<EventKey>* keys = nullptr);

// The number of events that the block says it holds; nothing is unpacked.
absl::StatusOr<std::size_t> packed_count(std::string_view packed);

}  // namespace castscope::wire
