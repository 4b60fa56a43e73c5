#include "tests/fuzz/sent_batches.h"

#include <array>
#include <string>
#include <vector>

namespace castscope::fuzz {
namespace {

constexpr std::uint32_t kMostEvents = 20;
using lanes::DefinitionKind;

// The bytes of a record of fixed length.
std::size_t payload_of(DefinitionKind kind) {
  switch (kind) {
#define CASTSCOPE_SIZE(name, number, Type) \
  case DefinitionKind::name:               \
    return sizeof(lanes::Type);
    CASTSCOPE_DEFINITION_KINDS(CASTSCOPE_SIZE)
#undef CASTSCOPE_SIZE
  }
  return 0;
}

// Numbers in a record are mostly small: else nothing in it refers to anything.
std::string record(Bytes& bytes, std::size_t size) {
  std::string payload(size, '\0');
  for (std::size_t i = 0; i < size; i += 4) payload[i] = static_cast<char>(bytes.up_to(8));
  for (std::uint32_t changes = bytes.up_to(4); changes > 0 && size > 0; --changes)
    payload[bytes.up_to(static_cast<std::uint32_t>(size) - 1)] = static_cast<char>(bytes.byte());
  return payload;
}

}  // namespace

// Few numbers, so that what is defined is referred to, and a large one at times.
std::uint32_t SentBatches::id() {
  const std::uint8_t byte = bytes_.byte();
  return byte < 250 ? byte % 8 : bytes_.take<std::uint32_t>();
}

ingest::BatchBuilder SentBatches::next() {
  const std::uint32_t process = bytes_.up_to(2);
  ingest::BatchBuilder batch("host/" + std::to_string(process) + "/1/0");
  const bool forgets = bytes_.byte() == 0xff;
  if (!begun_[process] && !forgets) batch.begin(process);
  begun_[process] = true;
  for (std::uint32_t parts = bytes_.up_to(12); parts > 0 && !bytes_.empty(); --parts) {
    switch (bytes_.byte() % 8) {
      case 0:
        add_events(batch);
        break;
      case 1:
      case 2:
        add_counter(batch);
        break;
      case 3:
        add_lane(batch);
        break;
      case 4:
        add_end(batch);
        break;
      default:
        add_definition(batch);
    }
  }
  return batch;
}

void SentBatches::add_definition(ingest::BatchBuilder& to) {
  constexpr std::uint32_t kKinds = 15;
  const auto kind = static_cast<DefinitionKind>(1 + bytes_.up_to(kKinds));
  const std::uint32_t id = this->id();
  if (kind == DefinitionKind::kString) {
    to.text(id, bytes_.text());
  } else if (kind == DefinitionKind::kStack) {
    std::vector<lanes::Frame> frames(bytes_.up_to(4));
    for (lanes::Frame& frame : frames) frame = {this->id(), bytes_.byte()};
    to.stack(id, frames);
  } else if (kind == DefinitionKind::kOperatorUse) {
    lanes::OperatorUseDefinition use{};
    const std::string payload = record(bytes_, sizeof use);
    std::memcpy(static_cast<void*>(&use), payload.data(), sizeof use);
    std::vector<lanes::Operand> operands(bytes_.up_to(5));
    for (lanes::Operand& operand : operands) operand = bytes_.take<lanes::Operand>();
    to.operator_use(id, use, operands);
  } else {
    to.raw(kind, id, record(bytes_, payload_of(kind)));
  }
}

void SentBatches::add_events(ingest::BatchBuilder& to) {
  std::vector<lanes::Event> events(1 + bytes_.up_to(kMostEvents - 1));
  std::uint64_t time = bytes_.number();
  for (lanes::Event& event : events) {
    event.kind = static_cast<lanes::EventKind>(bytes_.up_to(static_cast<std::uint8_t>(lanes::kLastEventKind)));
    event.site = id();
    event.time = time += bytes_.byte();
    event.step = bytes_.up_to(3);
    event.region = bytes_.up_to(2);
    event.flags = bytes_.byte();
    event.duration = bytes_.byte();
    event.bytes = bytes_.number();
    event.ndim = static_cast<std::uint8_t>(bytes_.up_to(5));
    lanes::EventWords::tensor(event) = bytes_.number();
    lanes::EventWords::entries(event) = bytes_.byte();
  }
  const std::uint32_t lane = bytes_.up_to(3);
  const std::uint64_t first = bytes_.byte() < 240 ? next_event_[lane] : bytes_.number();
  to.events(lane, first, events);
  next_event_[lane] = first + events.size();
}

void SentBatches::add_counter(ingest::BatchBuilder& to) {
  v1::Counters& counters = *to.batch().mutable_counters();
  counters.add_lane(bytes_.up_to(3));
  counters.add_site(id());
  counters.add_casts(bytes_.number());
  counters.add_cache_hits(bytes_.number());
  counters.add_pass_throughs(bytes_.number());
  counters.add_traced(bytes_.number());
  counters.add_bytes(bytes_.number());
  counters.add_cpu_ns(bytes_.number());
  if (bytes_.byte() != 0xff) counters.add_kept(bytes_.number());
}

// Compilers evaluate arguments in orders of their own, and an input must mean the same to all of them.
void SentBatches::add_lane(ingest::BatchBuilder& to) {
  const std::uint32_t lane = bytes_.up_to(3);
  const std::uint64_t written = bytes_.number(), dropped = bytes_.number();
  to.lane(lane, written, dropped);
}

void SentBatches::add_end(ingest::BatchBuilder& to) {
  const std::uint32_t kind = bytes_.up_to(5);
  to.end(static_cast<v1::ProcessEndKind>(kind), static_cast<int>(bytes_.byte()) - 1);
}

}  // namespace castscope::fuzz
