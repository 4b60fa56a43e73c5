// The writing end of a segment: hands out lanes and counters, appends definitions; segment_file.h has the
// memory. Its sibling is segment_reader.h; lanes_test.cc tests both together.
//
// Thread-safety: acquire_lane, release_lane, define and new_counter may be called by any thread; a Lane and its
// counters belong to the thread that acquired it. Nothing here blocks on another process, and only acquire_lane throws
// (std::bad_alloc, when not even the process's own memory has room for a lane).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/lanes/format.h"
#include "agent/lanes/own_counter.h"
#include "agent/lanes/segment_file.h"

namespace castscope::lanes {

class SegmentWriter {
 public:
  struct Options {
    std::string directory;  // must exist
    std::uint32_t ring_events = kDefaultRingEvents;
    std::uint64_t max_bytes = kMaxSegmentBytes;
    Clock clock = kOwnCounter;  // where that is not steady: kMonotonicNs
  };

  // Returns nullptr with a sentence in `error` when the segment cannot be made; nothing is left behind then. Where
  // there is little room the ring is smaller than asked for (a quarter of what is free at most), and in the end there
  // is none. If `file` was made before, its directory and size replace those in `options`.
  static SegmentWriter* create(const Options& options, std::string* error, std::unique_ptr<SegmentFile> file = nullptr);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  SegmentHeader& header() { return *header_; }
  const std::string& path() const { return file_->path(); }
  std::uint32_t number() const { return file_->number(); }
  std::uint32_t ring_events() const { return ring_events_; }
  template <typename T>
  T* at(std::uint64_t offset) {
    return reinterpret_cast<T*>(base_ + offset);
  }

  // A lane for the calling thread: one that an ended thread gave back, else a new one, with a ring as large as there is
  // room for, or with none. When not even that fits, a private one: in the process's own memory, with number 0; its
  // counts are added to the header's `lost` with each event dropped, when its thread ends, and when the process does.
  Lane* acquire_lane(std::uint32_t tid);
  void release_lane(Lane* lane);
  // Sets the site of Lane::other from here on. Call it before the first lane is acquired.
  void set_other_site(std::uint32_t site) { header_->lost_other.site.store(site, std::memory_order_relaxed); }
  // A fresh counter in the caller's lane, or nullptr when the segment is full (use lane->overflow or other then).
  Counter* new_counter(Lane* lane, std::uint32_t site);

  // Appends a definition: `payload` followed by `more`. False (and counted) when it does not fit.
  bool define(DefinitionKind kind, std::uint32_t id, const void* payload, std::uint32_t payload_bytes,
              const void* more = nullptr, std::uint32_t more_bytes = 0);

  // The present time in the segment's clock, and a new second pair for the conversion to ns (cheap; call it now and
  // then, not on the hot path).
  std::uint64_t now() const;
  void update_clock_pair();

  // May be called in a signal handler, whatever it interrupted. If it interrupted a private lane that was telling its
  // counts, the counts since it last told are lost.
  void mark_end(EndMark mark, std::uint64_t exit_status_plus_1);

  // The cold half of LaneWriter: drops an event of the caller's lane that its ring has no room for.
  [[gnu::cold, gnu::noinline]] static void drop_event(Lane& lane);

 private:
  struct PrivateLane;
  explicit SegmentWriter(std::unique_ptr<SegmentFile> file);
  // Returns an offset, 64-byte aligned, zeroed; 0 when full. Only a request with `spare` may take the last of the room.
  std::uint64_t allocate(std::uint64_t bytes, bool spare = false);
  bool reserve(std::uint64_t end);
  bool reserve_at_all(std::uint32_t ring_events);
  bool reserve_first(std::uint32_t ring_events, std::uint64_t definition_bytes);
  std::uint32_t next_ring() const;  // events; 0 = none
  Lane* new_lane();
  Lane* private_lane();
  void publish(PrivateLane& lane);
  void publish_locked(PrivateLane& lane);
  void update_clock_pair_locked();
  std::uint64_t new_definition_block(std::uint64_t at_least);

  std::unique_ptr<SegmentFile> file_;
  char* base_;
  SegmentHeader* header_ = nullptr;
  std::uint64_t used_ = 0;
  std::uint64_t ring_bytes_ = 0;  // bytes of all rings
  std::uint32_t ring_events_ = 0;
  std::uint32_t lanes_made_ = 0;
  Lane* last_lane_ = nullptr;
  DefinitionBlock* definitions_ = nullptr;
  std::vector<std::unique_ptr<PrivateLane>> private_lanes_;
  std::mutex mutex_;
};

std::uint64_t monotonic_ns();
std::uint64_t realtime_ns();

}  // namespace castscope::lanes
