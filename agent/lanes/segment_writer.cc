#include "agent/lanes/segment_writer.h"

#include <cpuid.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace castscope::lanes {
namespace {

constexpr std::uint64_t kReserveStep = 256 << 10;  // the file grows by this much at a time

std::uint64_t align(std::uint64_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

std::uint64_t clock_ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

std::string sentence(const std::string& what, const std::string& path, int error) {
  return what + " " + path + ": " + std::strerror(error);
}

}  // namespace

bool has_invariant_tsc() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

std::uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::uint64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }

std::uint64_t own_start_ticks() {
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = 0;
  // The second field is the command in parentheses and may hold spaces: start after the last one.
  const char* p = std::strrchr(text, ')');
  for (int field = 2; p != nullptr && field < 22; ++field) p = std::strchr(p + 1, ' ');
  return p == nullptr ? 0 : std::strtoull(p + 1, nullptr, 10);
}

SegmentWriter* SegmentWriter::create(const Options& options, std::string* error) {
  auto* self = new SegmentWriter;
  const pid_t pid = getpid();
  for (int n = 0; self->fd_ < 0; ++n) {
    self->path_ = options.directory + "/" + std::to_string(pid) + "-" + std::to_string(n) + ".lanes";
    self->fd_ = open(self->path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (self->fd_ < 0 && errno != EEXIST) {
      *error = sentence("cannot make", self->path_, errno);
      delete self;
      return nullptr;
    }
  }
  self->max_bytes_ = options.max_bytes & ~(kPage - 1);
  void* base = mmap(nullptr, self->max_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd_, 0);
  if (base == MAP_FAILED) {
    *error = sentence("cannot map", self->path_, errno);
    unlink(self->path_.c_str());
    delete self;
    return nullptr;
  }
  self->base_ = static_cast<char*>(base);

  // Room for one lane with its ring, a counter block and definitions: a segment that cannot hold that is of no use.
  self->ring_events_ = options.ring_events;
  const std::uint64_t rest = 4 * kPage + sizeof(CounterBlock) + kDefinitionBlockBytes;
  while (!self->reserve(rest + self->ring_events_ * sizeof(Event)) && self->ring_events_ > kSmallestRingEvents)
    self->ring_events_ /= 2;
  if (!self->reserve(rest + self->ring_events_ * sizeof(Event))) {
    *error = sentence("no room for " + std::to_string((rest + self->ring_events_ * sizeof(Event)) >> 10) + " KB in",
                      options.directory, ENOSPC);
    unlink(self->path_.c_str());
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
  h.max_bytes = self->max_bytes_;
  h.pid = static_cast<std::uint32_t>(pid);
  h.parent_pid = static_cast<std::uint32_t>(getppid());
  h.start_ticks = own_start_ticks();
  h.clock = options.clock == Clock::kTsc && has_invariant_tsc() ? Clock::kTsc : Clock::kMonotonicNs;
  h.clock0 = self->now();
  h.monotonic0_ns = monotonic_ns();
  h.realtime0_ns = realtime_ns();
  self->update_clock_pair();
  h.first_definitions.store(self->new_definition_block(0), std::memory_order_release);
  h.magic.store(kMagic, std::memory_order_release);
  return self;
}

SegmentWriter::~SegmentWriter() {
  if (base_ != nullptr) munmap(base_, max_bytes_);
  if (fd_ >= 0) close(fd_);
}

std::uint64_t SegmentWriter::now() const { return header_->clock == Clock::kTsc ? __rdtsc() : monotonic_ns(); }

void SegmentWriter::update_clock_pair() {
  SegmentHeader& h = *header_;
  std::lock_guard lock(mutex_);
  h.pair_sequence.fetch_add(1, std::memory_order_acq_rel);
  h.clock1.store(now(), std::memory_order_relaxed);
  h.monotonic1_ns.store(monotonic_ns(), std::memory_order_relaxed);
  h.pair_sequence.fetch_add(1, std::memory_order_release);
}

bool SegmentWriter::reserve(std::uint64_t end) {
  if (end > max_bytes_) return false;
  struct stat now {};
  if (fstat(fd_, &now) != 0) return false;
  const auto have = static_cast<std::uint64_t>(now.st_size);
  if (end > have) {
    // A page that is not reserved would be a SIGBUS at first touch when /dev/shm is full; this fails with ENOSPC.
    const std::uint64_t step = std::min(max_bytes_, (end + kReserveStep - 1) / kReserveStep * kReserveStep);
    if (posix_fallocate(fd_, 0, static_cast<off_t>(step)) != 0 &&
        posix_fallocate(fd_, 0, static_cast<off_t>(end)) != 0) {
      // What a failed call reserved is given back, so that a smaller try has room.
      if (ftruncate(fd_, static_cast<off_t>(have)) != 0) return false;
      return false;
    }
    if (fstat(fd_, &now) != 0) return false;
  }
  auto* h = reinterpret_cast<SegmentHeader*>(base_);
  h->allocated.store(static_cast<std::uint64_t>(now.st_size), std::memory_order_release);
  return true;
}

std::uint64_t SegmentWriter::allocate(std::uint64_t bytes) {
  bytes = align(bytes);
  if (used_ + bytes > header_->allocated.load(std::memory_order_relaxed) && !reserve(used_ + bytes)) return 0;
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
  const std::uint64_t used_before = used_;
  const std::uint64_t offset = allocate(sizeof(Lane));
  std::uint64_t ring = 0;
  std::uint32_t capacity = ring_events_;
  if (offset != 0)
    while ((ring = allocate(capacity * sizeof(Event))) == 0 && capacity > kSmallestRingEvents) capacity /= 2;
  if (ring == 0) {
    used_ = used_before;
    return nullptr;
  }
  Lane* lane = at<Lane>(offset);
  lane->id = ++lanes_made_;
  lane->ring_capacity = capacity;
  lane->ring = ring;
  lane->tid.store(tid, std::memory_order_relaxed);
  lane->held.store(1, std::memory_order_relaxed);
  auto& link = last_lane_ == nullptr ? header_->first_lane : last_lane_->next;
  link.store(offset, std::memory_order_release);
  last_lane_ = lane;
  return lane;
}

void SegmentWriter::release_lane(Lane* lane) { lane->held.store(0, std::memory_order_release); }

Counter* SegmentWriter::new_counter(Lane* lane, std::uint32_t site) {
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
  const std::uint64_t bytes = std::max(kDefinitionBlockBytes, align(at_least + sizeof(DefinitionBlock)));
  const std::uint64_t offset = allocate(bytes);
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
  update_clock_pair();
  header_->exit_status.store(exit_status_plus_1, std::memory_order_relaxed);
  header_->end_mark.store(static_cast<std::uint32_t>(mark), std::memory_order_release);
}

}  // namespace castscope::lanes
