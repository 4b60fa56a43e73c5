#include "agent/enforce/freshness/proof.h"

#include <optional>
#include <utility>

#include "agent/enforce/freshness/checksum.h"
#include "agent/enforce/freshness/written_pages.h"

namespace castscope::enforce {
namespace {

// Below this size a sum costs hardly more than the kernel's answer, and watching alone costs more than some sums.
constexpr std::size_t kLeastTracked = 128 << 10;

WrittenPages& written_pages() {
  static auto* const pages = new WrittenPages;  // never taken down
  return *pages;
}

std::uint64_t sum_of_edges(const WrittenPages::Range& range) {
  return checksum(range.head.data(), range.head.size()) * 3 + checksum(range.tail.data(), range.tail.size());
}

}  // namespace

// A range that is watched, for as long as this object lives.
struct Proof::Watch {
  explicit Watch(const WrittenPages::Range& watched) : range(watched) {}
  ~Watch() { written_pages().forget(range); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  const WrittenPages::Range range;
};

Proof::Proof() = default;
Proof::~Proof() = default;
Proof::Proof(Proof&&) noexcept = default;
Proof& Proof::operator=(Proof&&) noexcept = default;

Proof Proof::of(const void* data, std::size_t bytes, Proving how) {
  Proof proof;
  if (how == Proving::kNone) return proof;
  proof.made_ = true;
  if (how == Proving::kTrack && !is_little(bytes) && written_pages().works()) {
    if (const std::optional<WrittenPages::Range> range = written_pages().watch(data, bytes)) {
      proof.watch_ = std::make_unique<Watch>(*range);
      proof.sum_ = sum_of_edges(*range);
      return proof;
    }
  }
  proof.sum_ = checksum(data, bytes);
  return proof;
}

bool Proof::is_tracked() const { return watch_ != nullptr; }

bool Proof::holds(const void* data, std::size_t bytes) const {
  if (!made_) return false;
  if (watch_ == nullptr) return checksum(data, bytes) == sum_;
  return written_pages().unwritten(watch_->range) && sum_of_edges(watch_->range) == sum_;
}

bool Proof::is_little(std::size_t bytes) { return bytes < kLeastTracked; }

void Proof::child_begins() { written_pages().child_begins(); }

}  // namespace castscope::enforce
