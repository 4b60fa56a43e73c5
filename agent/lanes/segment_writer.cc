#include "agent/lanes/segment_writer.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace castscope::lanes {
namespace {

constexpr std::uint64_t kSpareBytes = kSpareLanes * sizeof(Lane);
constexpr std::uint64_t kSmallDefinitionBlock = 4 << 10;

std::uint64_t align(std::uint64_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

std::uint64_t clock_ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

constexpr Shared<std::uint64_t> Counter::*kCounts[] = {&Counter::casts,  &Counter::hits,  &Counter::passes,
                                                       &Counter::traced, &Counter::bytes, &Counter::ticks,
                                                       &Counter::kept};

// A signal handler may end the process after it interrupted the thread that holds the lock: nobody gives the lock back
// then. Any other holder gives it back in far less time.
std::unique_lock<std::mutex> lock_patiently(std::mutex& mutex) {
  constexpr std::uint64_t kPatienceNs = 10'000'000;
  std::unique_lock lock(mutex, std::try_to_lock);
  const std::uint64_t begin = monotonic_ns();
  while (!lock && monotonic_ns() - begin < kPatienceNs) {
    sched_yield();
    (void)lock.try_lock();
  }
  return lock;
}

}  // namespace

// A lane that the relay does not see. `told` is the part of its counts that the header has already; under `publishing`.
struct SegmentWriter::PrivateLane : Lane {
  explicit PrivateLane(SegmentWriter& owner) : Lane(), segment(owner) {}
  SegmentWriter& segment;
  std::mutex publishing;
  std::uint64_t told[2][std::size(kCounts)] = {};
  std::uint64_t told_dropped = 0;
};

std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::uint64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }

SegmentWriter* SegmentWriter::create(const Options& options, std::string* error, std::unique_ptr<SegmentFile> file) {
  if (file == nullptr) file = SegmentFile::create(options.directory, options.max_bytes, error);
  if (file == nullptr) return nullptr;
  auto* self = new SegmentWriter(std::move(file));
  if (!self->reserve_at_all(options.ring_events)) {
    *error = "no room for " + std::to_string((3 * kPage + kSpareBytes + kSmallDefinitionBlock) >> 10) + " KB in " +
             self->file_->directory() + ": " + std::strerror(errno);
    self->file_->remove();
    delete self;
    return nullptr;
  }
  self->header_ = reinterpret_cast<SegmentHeader*>(self->base_);
  self->used_ = kPage;
  SegmentHeader& h = *self->header_;
  h.version = kVersion;
  h.header_bytes = sizeof(SegmentHeader);
  h.event_bytes = sizeof(Event);
  h.counter_bytes = sizeof(Counter);
  h.max_bytes = self->file_->max_bytes();
  h.pid = static_cast<std::uint32_t>(getpid());
  h.parent_pid = static_cast<std::uint32_t>(getppid());
  h.start_ticks = self->file_->start_ticks();
  h.clock = options.clock == kOwnCounter && machine::ticks_are_steady() ? kOwnCounter : Clock::kMonotonicNs;
  h.clock0 = self->now();
  h.monotonic0_ns = monotonic_ns();
  h.realtime0_ns = realtime_ns();
  self->update_clock_pair();
  h.first_definitions.store(self->new_definition_block(0), std::memory_order_release);
  h.magic.store(kMagic, std::memory_order_release);
  return self;
}

SegmentWriter::SegmentWriter(std::unique_ptr<SegmentFile> file) : file_(std::move(file)), base_(file_->base()) {}
SegmentWriter::~SegmentWriter() = default;

std::uint64_t SegmentWriter::now() const { return header_->clock == kOwnCounter ? machine::ticks() : monotonic_ns(); }

void SegmentWriter::update_clock_pair() {
  std::lock_guard lock(mutex_);
  update_clock_pair_locked();
}

void SegmentWriter::update_clock_pair_locked() {
  SegmentHeader& h = *header_;
  h.pair_sequence.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // nobody sees the pair change before the odd number
  h.clock1.store(now(), std::memory_order_relaxed);
  h.monotonic1_ns.store(monotonic_ns(), std::memory_order_relaxed);
  h.pair_sequence.fetch_add(1, std::memory_order_release);
}

bool SegmentWriter::reserve(std::uint64_t end) {
  if (!file_->reserve(end)) return false;
  reinterpret_cast<SegmentHeader*>(base_)->allocated.store(file_->reserved(), std::memory_order_release);
  return true;
}

bool SegmentWriter::reserve_first(std::uint32_t ring_events, std::uint64_t definition_bytes) {
  return reserve(3 * kPage + kSpareBytes + definition_bytes + (ring_events == 0 ? 0 : sizeof(CounterBlock)) +
                 ring_events * sizeof(Event));
}

// Reserves room for one lane with its ring, a counter block and definitions; where that is too much, for what the lanes
// need to count by outcome alone.
bool SegmentWriter::reserve_at_all(std::uint32_t ring_events) {
  while (ring_events > kSmallestRingEvents && ring_events * sizeof(Event) > file_->free_bytes() / 4) ring_events /= 2;
  while (!reserve_first(ring_events, kDefinitionBlockBytes) && ring_events > 0)
    ring_events = ring_events > kSmallestRingEvents ? ring_events / 2 : 0;
  ring_events_ = ring_events;
  return ring_events > 0 || reserve_first(0, kDefinitionBlockBytes) || reserve_first(0, kSmallDefinitionBlock);
}

std::uint64_t SegmentWriter::allocate(std::uint64_t bytes, bool spare) {
  bytes = align(bytes);
  const std::uint64_t end = used_ + bytes + (spare ? 0 : kSpareBytes);
  if (end > header_->allocated.load(std::memory_order_relaxed) && !reserve(end)) return 0;
  const std::uint64_t offset = used_;
  used_ += bytes;
  return offset;
}

Lane* SegmentWriter::acquire_lane(std::uint32_t tid) {
  std::lock_guard lock(mutex_);
  for (std::uint64_t o = header_->first_lane.load(std::memory_order_relaxed); o != 0;) {
    Lane* lane = at<Lane>(o);
    if (lane->held.load(std::memory_order_acquire) == 0) {
      lane->tid.store(tid, std::memory_order_relaxed);
      lane->held.store(1, std::memory_order_release);
      return lane;
    }
    o = lane->next.load(std::memory_order_relaxed);
  }
  Lane* lane = new_lane();
  if (lane == nullptr) lane = private_lane();
  lane->other.site.store(header_->lost_other.site.load(std::memory_order_relaxed), std::memory_order_relaxed);
  lane->tid.store(tid, std::memory_order_relaxed);
  lane->held.store(1, std::memory_order_relaxed);
  if (lane->id == 0) return lane;
  auto& link = last_lane_ == nullptr ? header_->first_lane : last_lane_->next;
  link.store(static_cast<std::uint64_t>(reinterpret_cast<char*>(lane) - base_), std::memory_order_release);
  last_lane_ = lane;
  return lane;
}

std::uint32_t SegmentWriter::next_ring() const {
  if (lanes_made_ == 0) return ring_events_;  // create() has reserved its room
  const std::uint64_t reserved = header_->allocated.load(std::memory_order_relaxed) - used_;
  const std::uint64_t max_bytes = file_->max_bytes(), free = file_->free_bytes();
  const std::uint64_t here = free > max_bytes ? max_bytes : free + reserved;
  // Where there is little room, rings take half of it.
  const std::uint64_t half = (here + ring_bytes_) / 2;
  const std::uint64_t share = std::min(ring_share(max_bytes), half);
  const std::uint64_t left = share - std::min(share, ring_bytes_);
  std::uint32_t events = ring_events_;
  while (events > kSmallestRingEvents && events * sizeof(Event) > left / 8) events /= 2;
  return ring_bytes_ + events * sizeof(Event) > std::min(most_ring_bytes(max_bytes), half) ? 0 : events;
}

Lane* SegmentWriter::new_lane() {
  if (lanes_made_ == kMostLanes) return nullptr;
  std::uint32_t capacity = next_ring();
  std::uint64_t offset = 0;
  const auto bytes = [&] { return sizeof(Lane) + capacity * sizeof(Event); };
  while (capacity > 0 && (offset = allocate(bytes())) == 0)
    capacity = capacity > kSmallestRingEvents ? capacity / 2 : 0;
  if (offset == 0) offset = allocate(sizeof(Lane), true);
  if (offset == 0) return nullptr;
  Lane* lane = at<Lane>(offset);
  lane->id = ++lanes_made_;
  lane->ring_capacity = capacity;
  lane->ring = capacity == 0 ? 0 : offset + sizeof(Lane);
  ring_bytes_ += capacity * sizeof(Event);
  return lane;
}

Lane* SegmentWriter::private_lane() {
  for (const auto& lane : private_lanes_)
    if (lane->held.load(std::memory_order_acquire) == 0) return lane.get();
  return private_lanes_.emplace_back(std::make_unique<PrivateLane>(*this)).get();
}

void SegmentWriter::publish(PrivateLane& lane) {
  std::lock_guard lock(lane.publishing);
  publish_locked(lane);
}

void SegmentWriter::publish_locked(PrivateLane& lane) {
  const auto add = [](Counter& to, const Counter& from, std::uint64_t* told) {
    for (std::size_t i = 0; i < std::size(kCounts); ++i) {
      const std::uint64_t now = (from.*kCounts[i]).load(std::memory_order_relaxed);
      if (now != told[i]) (to.*kCounts[i]).fetch_add(now - told[i], std::memory_order_relaxed);
      told[i] = now;
    }
  };
  add(header_->lost, lane.overflow, lane.told[0]);
  add(header_->lost_other, lane.other, lane.told[1]);
  const std::uint64_t dropped = lane.dropped.load(std::memory_order_relaxed);
  header_->lost_events.fetch_add(dropped - lane.told_dropped, std::memory_order_relaxed);
  lane.told_dropped = dropped;
}

void SegmentWriter::drop_event(Lane& lane) {
  lane.dropped.store(lane.dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (lane.id != 0) return;
  auto& own = static_cast<PrivateLane&>(lane);
  own.segment.publish(own);
}

void SegmentWriter::release_lane(Lane* lane) {
  if (lane->id == 0) publish(*static_cast<PrivateLane*>(lane));
  lane->held.store(0, std::memory_order_release);
}

Counter* SegmentWriter::new_counter(Lane* lane, std::uint32_t site) {
  if (lane->id == 0) return nullptr;
  const std::uint64_t n = lane->n_counters.load(std::memory_order_relaxed);
  CounterBlock* block = nullptr;
  std::uint64_t offset = lane->first_counters.load(std::memory_order_relaxed);
  while (offset != 0) {
    block = at<CounterBlock>(offset);
    offset = block->next.load(std::memory_order_relaxed);
  }
  if (n % kCountersPerBlock == 0) {
    std::lock_guard lock(mutex_);
    const std::uint64_t fresh = allocate(sizeof(CounterBlock));
    if (fresh == 0) return nullptr;
    auto& link = block == nullptr ? lane->first_counters : block->next;
    link.store(fresh, std::memory_order_release);
    block = at<CounterBlock>(fresh);
  }
  Counter* counter = &block->counters[n % kCountersPerBlock];
  counter->site.store(site, std::memory_order_relaxed);
  lane->n_counters.store(n + 1, std::memory_order_release);
  return counter;
}

std::uint64_t SegmentWriter::new_definition_block(std::uint64_t at_least) {
  const std::uint64_t needed = align(at_least + sizeof(DefinitionBlock));
  std::uint64_t bytes = std::max(kDefinitionBlockBytes, needed);
  std::uint64_t offset = allocate(bytes);
  if (offset == 0) offset = allocate(bytes = std::max(kSmallDefinitionBlock, needed));
  if (offset == 0) return 0;
  auto* block = at<DefinitionBlock>(offset);
  block->size = bytes;
  block->end.store(sizeof(DefinitionBlock), std::memory_order_release);
  if (definitions_ != nullptr) definitions_->next.store(offset, std::memory_order_release);
  definitions_ = block;
  return offset;
}

bool SegmentWriter::define(DefinitionKind kind, std::uint32_t id, const void* payload, std::uint32_t payload_bytes,
                           const void* more, std::uint32_t more_bytes) {
  const std::uint32_t size = (sizeof(DefinitionHeader) + payload_bytes + more_bytes + 7) & ~7u;
  std::lock_guard lock(mutex_);
  if (definitions_ == nullptr || (definitions_->end.load(std::memory_order_relaxed) + size > definitions_->size &&
                                  new_definition_block(size) == 0)) {
    header_->lost_definitions.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t end = definitions_->end.load(std::memory_order_relaxed);
  char* to = reinterpret_cast<char*>(definitions_) + end;
  const DefinitionHeader head{size, payload_bytes + more_bytes, kind, 0, id};
  std::memcpy(to, &head, sizeof head);
  if (payload_bytes != 0) std::memcpy(to + sizeof head, payload, payload_bytes);
  if (more_bytes != 0) std::memcpy(to + sizeof head + payload_bytes, more, more_bytes);
  definitions_->end.store(end + size, std::memory_order_release);
  return true;
}

void SegmentWriter::mark_end(EndMark mark, std::uint64_t exit_status_plus_1) {
  if (const auto lock = lock_patiently(mutex_)) {
    update_clock_pair_locked();
    for (const auto& lane : private_lanes_)
      if (const auto publishing = lock_patiently(lane->publishing)) publish_locked(*lane);
  }
  header_->exit_status.store(exit_status_plus_1, std::memory_order_relaxed);
  header_->end_mark.store(static_cast<std::uint32_t>(mark), std::memory_order_release);
}

}  // namespace castscope::lanes
