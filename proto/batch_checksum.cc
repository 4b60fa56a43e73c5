#include "proto/batch_checksum.h"

#include <zlib.h>

#include <string>
#include <utility>

#include "agent/lanes/gauges.h"

namespace castscope::wire {
namespace {

class Crc {
 public:
  void number(std::uint64_t value) {
    unsigned char bytes[8];
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(value), value >>= 8;
    add(bytes, sizeof bytes);
  }
  // The length first: neighbours must not run together.
  void text(const std::string& text) {
    number(text.size());
    if (!text.empty()) add(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  template <typename Column>
  void column(const Column& column) {
    number(static_cast<std::uint64_t>(column.size()));
    for (const auto value : column) number(value);
  }
  std::uint32_t value() const { return crc_ == 0 ? 1 : static_cast<std::uint32_t>(crc_); }

 private:
  void add(const unsigned char* bytes, std::size_t size) { crc_ = crc32_z(crc_, bytes, size); }
  uLong crc_ = crc32_z(0, nullptr, 0);
};

void add(Crc& crc, const v1::ProcessBegin& begin) {
  crc.text(begin.host());
  for (const std::int64_t value :
       {begin.pid(), begin.parent_pid(), static_cast<std::int64_t>(begin.start_ticks()), begin.start_epoch_ns()})
    crc.number(static_cast<std::uint64_t>(value));
}

void add(Crc& crc, const v1::Events& events) {
  crc.number(events.lane()), crc.number(events.first_event()), crc.number(events.event_count());
  crc.text(events.packed_events());
}

void add(Crc& crc, const v1::Counters& counters) {
  crc.column(counters.lane()), crc.column(counters.site()), crc.column(counters.casts());
  crc.column(counters.cache_hits()), crc.column(counters.pass_throughs()), crc.column(counters.traced());
  crc.column(counters.bytes()), crc.column(counters.cpu_ns()), crc.column(counters.kept());
}

void add(Crc& crc, const v1::LaneState& lane) {
  crc.number(lane.lane()), crc.number(lane.tid());
  crc.number(lane.events_published()), crc.number(lane.events_dropped());
}

void add(Crc& crc, const v1::Gauges& gauges) {
#define CASTSCOPE_ADD_GAUGE(name, ...) crc.number(gauges.name());
  CASTSCOPE_GAUGES(CASTSCOPE_ADD_GAUGE)
#undef CASTSCOPE_ADD_GAUGE
}

template <typename Message>
std::uint32_t of_text(Message message) {
  message.clear_checksum();
  Crc crc;
  crc.text(message.SerializeAsString());
  return crc.value();
}

}  // namespace

std::uint32_t checksum_of(const v1::Batch& batch) {
  Crc crc;
  crc.number(batch.sequence());
  crc.text(batch.process_key());
  crc.number(batch.has_process_begin());
  if (batch.has_process_begin()) add(crc, batch.process_begin());
  crc.text(batch.definitions());
  crc.number(static_cast<std::uint64_t>(batch.event_blocks_size()));
  for (const v1::Events& events : batch.event_blocks()) add(crc, events);
  crc.number(batch.has_counters());
  if (batch.has_counters()) add(crc, batch.counters());
  crc.number(static_cast<std::uint64_t>(batch.lanes_size()));
  for (const v1::LaneState& lane : batch.lanes()) add(crc, lane);
  crc.number(batch.has_gauges());
  if (batch.has_gauges()) add(crc, batch.gauges());
  crc.number(batch.has_process_end());
  if (batch.has_process_end()) {
    crc.number(static_cast<std::uint64_t>(batch.process_end().end_kind()));
    crc.number(static_cast<std::uint64_t>(batch.process_end().exit_status()));
  }
  crc.number(batch.flush());
  return crc.value();
}

std::uint32_t checksum_of(v1::Hello hello) { return of_text(std::move(hello)); }
std::uint32_t checksum_of(v1::Goodbye goodbye) { return of_text(std::move(goodbye)); }
std::uint32_t checksum_of(v1::Ack ack) { return of_text(std::move(ack)); }

}  // namespace castscope::wire
