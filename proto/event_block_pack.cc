#include <zstd.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "agent/lanes/event_views.h"
#include "proto/event_block.h"
#include "proto/event_block_model.h"

namespace castscope::wire {

using lanes::EventWords;
namespace {

using lanes::Event;
using lanes::EventKind;

// Measured on training_stream.h, 16384 events: level 1 takes 3.53 bytes an event, level 3 3.52, level 6 3.47 at half
// the speed. Most of what is left is noise.
constexpr int kLevel = 1;

void put_varint(std::string& to, std::uint64_t value) {
  while (value >= 0x80) {
    to.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  to.push_back(static_cast<char>(value));
}

class BitWriter {
 public:
  void put(std::uint64_t value, unsigned bits) {
    if (bits > 32) {
      put(value & 0xffffffff, 32);
      value >>= 32;
      bits -= 32;
    }
    pending_ |= value << used_;
    used_ += bits;
    while (used_ >= 8) {
      bytes.push_back(static_cast<char>(pending_));
      pending_ >>= 8;
      used_ -= 8;
    }
  }
  void finish() {
    if (used_ > 0) bytes.push_back(static_cast<char>(pending_));
  }
  std::string bytes;

 private:
  std::uint64_t pending_ = 0;
  unsigned used_ = 0;  // < 8 between calls
};

class Packer {
 public:
  explicit Packer(std::size_t events) {
    for (const Column c : {kCodes, kMasks, kTimeClasses, kDurationClasses}) columns_[c].reserve(events + 16);
    bits_.bytes.reserve(events * 4);
  }
  void add(const Event& event) {
    const std::uint32_t slot = put_slot(event);
    put_changes(slot, event);
    put_number(kTimeClasses, event.time - model_.predicted_time(slot));
    put_number(kDurationClasses, event.duration - model_.slot(slot).duration);
    model_.follow(slot, event);
  }
  std::string finish(std::size_t count);

 private:
  std::uint32_t put_slot(const Event& event) {
    const std::uint32_t predicted = model_.predicted_slot();
    if (predicted != kNoSlot) {
      const Event& last = model_.slot(predicted).last;
      if (last.site == event.site && last.kind == event.kind) {
        put_varint(columns_[kCodes], kAsPredicted);
        return predicted;
      }
    }
    const std::uint64_t key = static_cast<std::uint64_t>(event.kind) << 32 | event.site;
    const auto [it, fresh] = slots_.try_emplace(key, static_cast<std::uint32_t>(model_.slot_count()));
    if (!fresh) {
      put_varint(columns_[kCodes], it->second + 2);
      return it->second;
    }
    put_varint(columns_[kCodes], kNewSlot);
    columns_[kKeys].push_back(static_cast<char>(event.kind));
    put_varint(columns_[kKeys], event.site);
    return model_.add_slot(event.kind, event.site);
  }

  void put_changes(std::uint32_t slot, const Event& event) {
    const Event& last = model_.slot(slot).last;
    std::uint8_t mask = 0;
    if (event.ndim != last.ndim ||
        std::memcmp(EventWords::dims(event), EventWords::dims(last), sizeof EventWords::dims(event)) != 0) {
      mask |= kDimsBit;
      columns_[kDims].push_back(static_cast<char>(event.ndim));
      for (const std::uint32_t dim : EventWords::dims(event)) put_varint(columns_[kDims], dim);
    }
    if (event.bytes != last.bytes) {
      mask |= kBytesBit;
      put_varint(columns_[kBytes], event.bytes);
    }
    if (EventWords::tensor(event) != EventWords::tensor(last)) {
      mask |= kTensorBit;
      put_tensor(event);
    }
    if (event.step != model_.step()) {
      mask |= kStepBit;
      put_varint(columns_[kSteps], zigzag(static_cast<std::uint64_t>(event.step) - model_.step()));
    }
    if (event.region != model_.region()) {
      mask |= kRegionBit;
      put_varint(columns_[kRegions], zigzag(static_cast<std::uint64_t>(event.region) - model_.region()));
    }
    if (EventWords::entries(event) != model_.predicted_entries(slot)) {
      mask |= kEntriesBit;
      put_varint(columns_[kEntries],
                 zigzag(static_cast<std::uint64_t>(EventWords::entries(event)) - EventWords::entries(last)));
    }
    if (event.flags != last.flags) {
      mask |= kFlagsBit;
      columns_[kFlags].push_back(static_cast<char>(event.flags));
    }
    columns_[kMasks].push_back(static_cast<char>(mask));
  }

  void put_tensor(const Event& event) {
    const auto [it, fresh] = tensors_.try_emplace(EventWords::tensor(event), model_.tensors.size());
    put_bits(kTensorClasses, fresh ? 0 : model_.tensors.size() - it->second);
    if (!fresh) return;
    std::uint64_t& last = model_.last_new_tensor(event.kind);
    put_bits(kNewTensorClasses, heap_distance(EventWords::tensor(event), last));
    model_.tensors.push_back(last = EventWords::tensor(event));
  }

  void put_number(Column classes, std::uint64_t difference) { put_bits(classes, zigzag(difference)); }

  // The width goes into a column, which is compressed; the bits below the highest one are noise.
  void put_bits(Column classes, std::uint64_t value) {
    const unsigned width = static_cast<unsigned>(std::bit_width(value));
    columns_[classes].push_back(static_cast<char>(width));
    if (width > 1) bits_.put(value & ~(std::uint64_t{1} << (width - 1)), width - 1);
  }

  Model model_;
  std::array<std::string, kColumns> columns_;
  BitWriter bits_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> slots_;
  absl::flat_hash_map<std::uint64_t, std::size_t> tensors_;
};

std::string Packer::finish(std::size_t count) {
  std::string joined;
  for (const std::string& column : columns_) {
    put_varint(joined, column.size());
    joined += column;
  }
  bits_.finish();
  std::string packed(kBodyBegin, static_cast<char>(kEventBlockFormat));
  put_varint(packed, count);
  put_varint(packed, joined.size());
  put_varint(packed, bits_.bytes.size());
  const std::size_t begin = packed.size();
  packed.resize(begin + ZSTD_compressBound(joined.size()));
  // A context is 1 MB of tables: made once per thread.
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  const std::size_t used = ZSTD_compressCCtx(context.get(), packed.data() + begin, packed.size() - begin, joined.data(),
                                             joined.size(), kLevel);
  packed.resize(begin + used);  // cannot fail: the room is ZSTD_compressBound
  packed += bits_.bytes;
  seal(packed);
  return packed;
}

}  // namespace

void seal(std::string& packed) {
  const std::uint32_t checksum = body_checksum(packed);
  for (unsigned i = 0; i < sizeof checksum; ++i) packed[1 + i] = static_cast<char>(checksum >> (8 * i));
}

bool is_possible(const Event& event) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 63) - 1;
  // GradScaler's events and metrics have a floating-point number there.
  const bool is_real = event.kind == EventKind::kScaler || event.kind == EventKind::kMetric;
  return event.kind != EventKind::kNone && event.kind <= lanes::kLastEventKind && event.time <= kMost &&
         (event.bytes <= kMost || is_real);
}

std::string pack(std::span<const Event> events) {
  Packer packer(events.size());
  for (const Event& event : events) packer.add(event);
  return packer.finish(events.size());
}

}  // namespace castscope::wire
