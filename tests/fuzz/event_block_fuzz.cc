// Packed events (proto/event_block.h), as they come from relays and out of run files.
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <vector>

#include "proto/event_block.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzzer.h"

namespace castscope::fuzz {
namespace {

constexpr std::size_t kMostUnpacked = 5000;

void add_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

// A block whose columns and bits are the fuzzer's: what unpack sees behind the checksum and the compression.
std::string block_of(Bytes& bytes) {
  const std::uint64_t events = bytes.number();
  std::string columns;
  for (int i = 0; i < 5; ++i) {
    const std::string_view column = bytes.long_text();
    add_varint(columns, column.size() + (bytes.byte() == 0xff ? bytes.number() : 0));
    columns += column;
  }
  const std::string_view bits = bytes.rest();
  std::string packed(wire::kBodyBegin, '\0');
  packed[0] = static_cast<char>(wire::kEventBlockFormat);
  add_varint(packed, events);
  add_varint(packed, columns.size());
  add_varint(packed, bits.size());
  std::string compressed(ZSTD_compressBound(columns.size()), '\0');
  compressed.resize(ZSTD_compress(compressed.data(), compressed.size(), columns.data(), columns.size(), 1));
  packed += compressed;
  packed += bits;
  wire::seal(packed);
  return packed;
}

bool are_equal(const std::vector<lanes::Event>& a, const std::vector<lanes::Event>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

void unpack_and_pack(const std::string& packed) {
  std::vector<lanes::Event> events(1), again;
  std::vector<wire::EventKey> keys;
  const absl::Status status = wire::unpack(packed, kMostUnpacked, &events, &keys);
  const auto count = wire::packed_count(packed);
  if (!status.ok()) {
    CASTSCOPE_PROMISE(!status.message().empty(), "a block that is refused is refused with a sentence");
    CASTSCOPE_PROMISE(events.size() == 1, "a block that is refused adds no events");
    return;
  }
  events.erase(events.begin());
  CASTSCOPE_PROMISE(events.size() <= kMostUnpacked, "a block gives no more events than it may");
  CASTSCOPE_PROMISE(count.ok() && *count == events.size(), "a block says how many events it has");
  CASTSCOPE_PROMISE(keys.size() <= events.size(), "each key has an event");
  const absl::Status same = wire::unpack(wire::pack(events), kMostUnpacked, &again);
  CASTSCOPE_PROMISE(same.ok() && are_equal(events, again), "what was unpacked can be packed and unpacked again");
}

// Any events of a known kind come back as they were, but for what is reserved.
void pack_and_unpack(Bytes& bytes) {
  std::vector<lanes::Event> events, back;
  while (!bytes.empty() && events.size() < kMostUnpacked) {
    auto event = bytes.take<lanes::Event>();
    if (bytes.flag() && !events.empty()) event.site = events.front().site, event.kind = events.front().kind;
    std::vector<lanes::Event> alone;
    event.time %= std::uint64_t{1} << 62;
    event.bytes %= std::uint64_t{1} << 62;
    if (wire::is_possible(event)) events.push_back(event);
  }
  const absl::Status status = wire::unpack(wire::pack(events), kMostUnpacked, &back);
  CASTSCOPE_PROMISE(status.ok() && back.size() == events.size(), "possible events can be packed and unpacked");
  for (std::size_t i = 0; i < events.size(); ++i) events[i].reserved = back[i].reserved;
  CASTSCOPE_PROMISE(are_equal(events, back), "events come back as they were");
}

}  // namespace

CASTSCOPE_FUZZER(event_block, 4000, 4096) {
  Bytes bytes(input);
  switch (bytes.byte() % 4) {
    case 0:
      return unpack_and_pack(std::string(bytes.rest()));
    case 1: {
      std::string packed(bytes.rest());
      if (packed.size() >= wire::kBodyBegin) wire::seal(packed);
      return unpack_and_pack(packed);
    }
    case 2:
      return unpack_and_pack(block_of(bytes));
    default:
      return pack_and_unpack(bytes);
  }
}

}  // namespace castscope::fuzz
