#include <zlib.h>
#include <zstd.h>

#include <array>
#include <memory>

#include "absl/strings/str_cat.h"
#include "agent/lanes/event_views.h"
#include "proto/event_block.h"
#include "proto/event_block_model.h"

namespace castscope::wire {

using lanes::EventWords;
namespace {

using lanes::Event;
using lanes::EventKind;

// Reads past the end give 0 and are remembered; the caller checks `bad` before it believes anything.
class ColumnReader {
 public:
  ColumnReader() = default;
  explicit ColumnReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
  std::uint8_t byte() {
    if (at_ == end_) [[unlikely]] {
      bad = true;
      return 0;
    }
    return static_cast<std::uint8_t>(*at_++);
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = byte();
      value |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return value;
    }
    bad = true;
    return 0;
  }
  std::string_view bytes(std::uint64_t n) {
    if (n > static_cast<std::uint64_t>(end_ - at_)) {
      bad = true;
      return {};
    }
    const std::string_view result(at_, n);
    at_ += n;
    return result;
  }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  bool done() const { return at_ == end_; }
  bool bad = false;

 private:
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
  std::uint64_t get(unsigned bits) {
    if (bits > 32) {
      const std::uint64_t low = get(32);
      return low | get(bits - 32) << 32;
    }
    while (have_ < bits) {
      if (at_ == end_) [[unlikely]] {
        bad = true;
        return 0;
      }
      pending_ |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(*at_++)) << have_;
      have_ += 8;
    }
    const std::uint64_t value = pending_ & ((std::uint64_t{1} << bits) - 1);
    pending_ >>= bits;
    have_ -= bits;
    return value;
  }
  bool done() const { return at_ == end_ && pending_ == 0; }
  bool bad = false;

 private:
  const char* at_;
  const char* end_;
  std::uint64_t pending_ = 0;
  unsigned have_ = 0;
};

class Unpacker {
 public:
  Unpacker(std::array<ColumnReader, kColumns> columns, std::string_view bits) : columns_(columns), bits_(bits) {}

  bool next(Event* event) {
    const std::uint32_t slot = get_slot();
    if (slot == kNoSlot) return false;
    *event = model_.slot(slot).last;
    get_changes(slot, event);
    event->time = model_.predicted_time(slot) + get_number(kTimeClasses);
    event->duration = static_cast<std::uint32_t>(model_.slot(slot).duration + get_number(kDurationClasses));
    model_.follow(slot, *event);
    return !bad_ && !bits_.bad;
  }
  bool all_used() const {
    bool ok = bits_.done();
    for (const ColumnReader& column : columns_) ok = ok && column.done() && !column.bad;
    return ok;
  }
  void keys(std::vector<EventKey>* to) const {
    for (std::uint32_t i = 0; i < model_.slot_count(); ++i)
      to->push_back({model_.slot(i).last.kind, model_.slot(i).last.site});
  }

 private:
  std::uint32_t get_slot() {
    const std::uint64_t code = columns_[kCodes].varint();
    if (code == kAsPredicted) return model_.predicted_slot();
    if (code != kNewSlot) return code - 2 < model_.slot_count() ? static_cast<std::uint32_t>(code - 2) : kNoSlot;
    const std::uint8_t kind = columns_[kKeys].byte();
    const std::uint64_t site = columns_[kKeys].varint();
    if (kind == 0 || kind > static_cast<std::uint8_t>(lanes::kLastEventKind) || site > 0xffffffff) return kNoSlot;
    return model_.add_slot(static_cast<EventKind>(kind), static_cast<std::uint32_t>(site));
  }

  void get_changes(std::uint32_t slot, Event* event) {
    const std::uint8_t mask = columns_[kMasks].byte();
    if (mask & kDimsBit) {
      event->ndim = columns_[kDims].byte();
      for (std::uint32_t& dim : EventWords::dims(*event)) dim = static_cast<std::uint32_t>(columns_[kDims].varint());
    }
    if (mask & kBytesBit) event->bytes = columns_[kBytes].varint();
    if (mask & kTensorBit) EventWords::tensor(*event) = get_tensor(event->kind);
    event->step = model_.step();
    if (mask & kStepBit) event->step += static_cast<std::uint32_t>(unzigzag(columns_[kSteps].varint()));
    event->region = model_.region();
    if (mask & kRegionBit) event->region += static_cast<std::uint32_t>(unzigzag(columns_[kRegions].varint()));
    if (mask & kEntriesBit)
      EventWords::entries(*event) += static_cast<std::uint32_t>(unzigzag(columns_[kEntries].varint()));
    else
      EventWords::entries(*event) = model_.predicted_entries(slot);
    if (mask & kFlagsBit) event->flags = columns_[kFlags].byte();
  }

  std::uint64_t get_tensor(EventKind kind) {
    const std::uint64_t age = get_bits(kTensorClasses);
    if (age == 0) {
      std::uint64_t& last = model_.last_new_tensor(kind);
      last = heap_neighbour(last, get_bits(kNewTensorClasses));
      model_.tensors.push_back(last);
      return last;
    }
    bad_ = bad_ || age > model_.tensors.size();
    return bad_ ? 0 : model_.tensors[model_.tensors.size() - age];
  }

  std::uint64_t get_number(Column classes) { return unzigzag(get_bits(classes)); }

  std::uint64_t get_bits(Column classes) {
    const unsigned width = columns_[classes].byte();
    bad_ = bad_ || width > 64;
    if (bad_ || width == 0) return 0;
    const std::uint64_t high = std::uint64_t{1} << (width - 1);
    return width == 1 ? high : high | bits_.get(width - 1);
  }

  Model model_;
  std::array<ColumnReader, kColumns> columns_;
  BitReader bits_;
  bool bad_ = false;
};

struct Envelope {
  std::uint32_t checksum = 0;
  std::uint64_t count = 0, column_bytes = 0;
  std::string_view compressed, bits;
};

absl::Status damaged(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("damaged event block: ", what));
}

absl::Status open_envelope(std::string_view packed, Envelope* out) {
  ColumnReader reader(packed);
  const std::uint8_t format = reader.byte();
  if (reader.bad) return damaged("it is empty");
  if (format != kEventBlockFormat)
    return absl::UnimplementedError(
        absl::StrCat("events packed in format ", format, ", this castscope reads format ", kEventBlockFormat));
  for (unsigned i = 0; i < sizeof out->checksum; ++i) out->checksum |= std::uint32_t{reader.byte()} << (8 * i);
  out->count = reader.varint();
  out->column_bytes = reader.varint();
  const std::uint64_t bit_bytes = reader.varint();
  if (reader.bad) return damaged("its header is cut short");
  const std::string_view rest = reader.rest();
  if (bit_bytes > rest.size()) return damaged("it is cut short");
  out->compressed = rest.substr(0, rest.size() - bit_bytes);
  out->bits = rest.substr(rest.size() - bit_bytes);
  if (out->count > kMostEventsInBlock) return damaged("it claims more events than a block may hold");
  if (out->column_bytes > out->count * kMostColumnBytesPerEvent + kColumnOverhead)
    return damaged("its columns claim more bytes than its events can take");
  return absl::OkStatus();
}

absl::Status split_columns(const std::string& joined, std::array<ColumnReader, kColumns>* columns) {
  ColumnReader reader(joined);
  for (ColumnReader& column : *columns) column = ColumnReader(reader.bytes(reader.varint()));
  if (reader.bad || !reader.done()) return damaged("its columns do not add up");
  return absl::OkStatus();
}

}  // namespace

std::uint32_t body_checksum(std::string_view packed) {
  packed.remove_prefix(kBodyBegin);
  return static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(packed.data()), packed.size()));
}

absl::Status unpack(std::string_view packed, std::size_t limit, std::vector<Event>* events,
                    std::vector<EventKey>* keys) {
  Envelope envelope;
  if (absl::Status status = open_envelope(packed, &envelope); !status.ok()) return status;
  if (envelope.count > limit)
    return damaged(absl::StrCat("it holds ", envelope.count, " events where at most ", limit, " may come"));
  if (body_checksum(packed) != envelope.checksum) return damaged("its checksum is not that of its bytes");
  std::string joined(envelope.column_bytes, '\0');
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  const std::size_t got = ZSTD_decompressDCtx(context.get(), joined.data(), joined.size(), envelope.compressed.data(),
                                              envelope.compressed.size());
  if (ZSTD_isError(got) || got != joined.size()) return damaged("its columns cannot be decompressed");
  std::array<ColumnReader, kColumns> columns;
  if (absl::Status status = split_columns(joined, &columns); !status.ok()) return status;

  // Each event takes at least a byte of this column: no memory is taken for events that are not there.
  if (columns[kCodes].rest().size() < envelope.count) return damaged("its columns are too short for its events");

  Unpacker unpacker(columns, envelope.bits);
  const std::size_t before = events->size();
  events->resize(before + envelope.count);
  for (std::size_t i = 0; i < envelope.count; ++i) {
    if (unpacker.next(&(*events)[before + i])) continue;
    events->resize(before);
    return damaged(absl::StrCat("event ", i, " makes no sense"));
  }
  if (!unpacker.all_used()) {
    events->resize(before);
    return damaged("it holds more than its events");
  }
  if (keys != nullptr) unpacker.keys(keys);
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> packed_count(std::string_view packed) {
  Envelope envelope;
  if (absl::Status status = open_envelope(packed, &envelope); !status.ok()) return status;
  return envelope.count;
}

}  // namespace castscope::wire
