#include "agent/lanes/segment_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/lanes/own_counter.h"

namespace castscope::lanes {
namespace {

// A larger segment is not ours, whatever its header says. This bounds the address space that a foreign file can take.
constexpr std::uint64_t kLargestBelievedSegment = 1ull << 30;

void add(CounterValues& to, const Counter& from) {
  to.casts += from.casts.load(std::memory_order_relaxed);
  to.hits += from.hits.load(std::memory_order_relaxed);
  to.passes += from.passes.load(std::memory_order_relaxed);
  to.traced += from.traced.load(std::memory_order_relaxed);
  to.bytes += from.bytes.load(std::memory_order_relaxed);
  to.ticks += from.ticks.load(std::memory_order_relaxed);
  to.kept += from.kept.load(std::memory_order_relaxed);
}

}  // namespace

void ClockConversion::learn(std::uint64_t clock, std::uint64_t monotonic_ns) {
  if (settled() || clock <= clock0_ || monotonic_ns <= monotonic0_) return;
  const std::uint64_t baseline = monotonic_ns - monotonic0_;
  if (baseline <= baseline_ns_) return;
  baseline_ns_ = baseline;
  ns_per_tick_ = static_cast<double>(baseline) / static_cast<double>(clock - clock0_);
}

std::uint64_t ClockConversion::duration_ns(std::uint64_t ticks) const {
  if (clock_ == Clock::kMonotonicNs) return ticks;
  const double ns = static_cast<double>(ticks) * ns_per_tick_;
  return ns < 9e18 ? static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(9e18);
}

template <typename T>
const T* SegmentReader::at(std::uint64_t offset, std::uint64_t count) const {
  if (offset < kPage || offset % kAlignment != 0 || offset > limit_) return nullptr;
  if (count > (limit_ - offset) / sizeof(T)) return nullptr;
  return reinterpret_cast<const T*>(base_ + offset);
}

bool SegmentReader::fail(const std::string& what) {
  if (error_.empty()) error_ = "segment " + path_ + " is damaged: " + what;
  return false;
}

// The rest can be read.
void SegmentReader::lose(const std::string& what) {
  if (damage_.empty()) damage_ = "segment " + path_ + " is damaged: " + what;
}

SegmentReader::Outcome SegmentReader::open(const std::string& path, std::unique_ptr<SegmentReader>* reader,
                                           std::string* error) {
  auto refuse = [&](const std::string& why) {
    *error = "segment " + path + " cannot be read: " + why;
    return Outcome::kRefused;
  };
  std::unique_ptr<SegmentReader> self(new SegmentReader);
  self->path_ = path;
  self->fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (self->fd_ < 0) return refuse(std::strerror(errno));
  struct stat now {};
  if (fstat(self->fd_, &now) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(now.st_mode)) return refuse("it is not a file");
  if (static_cast<std::uint64_t>(now.st_size) < kPage) return Outcome::kNotReady;

  // Read, not mapped: looking at a page that the writer has not yet taken would take it.
  std::uint64_t begun = 0;
  if (pread(self->fd_, &begun, sizeof begun, 0) != sizeof begun || begun == 0) return Outcome::kNotReady;

  // The header page is mapped first: it says how much to map.
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd_, 0);
  if (page == MAP_FAILED) return refuse(std::strerror(errno));
  self->base_ = static_cast<char*>(page);
  self->mapped_ = kPage;
  const auto& header = *reinterpret_cast<const SegmentHeader*>(page);
  const std::uint64_t magic = header.magic.load(std::memory_order_acquire);
  if (magic == 0) return Outcome::kNotReady;
  if (magic != kMagic) return refuse("it is not a segment of castscope");
  if (header.version != kVersion)
    return refuse("it has format version " + std::to_string(header.version) + ", this castscope reads version " +
                  std::to_string(kVersion));
  if (header.header_bytes != sizeof(SegmentHeader) || header.event_bytes != sizeof(Event) ||
      header.counter_bytes != sizeof(Counter))
    return refuse("its records have other sizes than this castscope knows");
  if (header.clock != Clock::kTsc && header.clock != Clock::kMonotonicNs && header.clock != Clock::kGenericTimer)
    return refuse("its clock is not known");
  const std::uint64_t max_bytes = header.max_bytes;
  if (max_bytes < kPage || max_bytes > kLargestBelievedSegment || max_bytes % kPage != 0)
    return refuse("its size limit of " + std::to_string(max_bytes) + " bytes makes no sense");

  self->pid_ = header.pid;
  self->parent_pid_ = header.parent_pid;
  self->start_ticks_ = header.start_ticks;
  self->realtime0_ns_ = header.realtime0_ns;
  self->clock_kind_ = header.clock;
  self->conversion_ = ClockConversion(header.clock, header.clock0, header.monotonic0_ns);
  // Maps all of it at once, even where the file has no bytes yet: those pages come as the file grows, and limit_ keeps
  // us away from them until then.
  void* whole = mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd_, 0);
  if (whole == MAP_FAILED) return refuse(std::strerror(errno));
  munmap(page, kPage);
  self->base_ = static_cast<char*>(whole);
  self->mapped_ = max_bytes;
  if (!self->refresh()) {
    *error = self->error_;
    return Outcome::kRefused;
  }
  *reader = std::move(self);
  return Outcome::kOpen;
}

SegmentReader::~SegmentReader() {
  if (base_ != nullptr) munmap(base_, mapped_);
  if (fd_ >= 0) close(fd_);
}

// For a damaged segment, only what was read last is used: its pages may be gone.
EndMark SegmentReader::end_mark() const {
  if (!error_.empty()) return EndMark::kRunning;
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base_);
  const auto mark = static_cast<EndMark>(header.end_mark.load(std::memory_order_acquire));
  return mark == EndMark::kExited ? mark : EndMark::kRunning;
}

int SegmentReader::exit_status() const {
  if (!error_.empty()) return -1;
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base_);
  const std::uint64_t status = header.exit_status.load(std::memory_order_relaxed);
  return status == 0 || status > 256 || end_mark() != EndMark::kExited ? -1 : static_cast<int>(status - 1);
}

ProcessState SegmentReader::process_state() {
  if (!error_.empty()) return state_;
  const auto& h = *reinterpret_cast<const SegmentHeader*>(base_);
  ProcessState& s = state_;
#define CASTSCOPE_READ_GAUGE(name, word, ...) s.word = h.word.load(std::memory_order_relaxed);
  CASTSCOPE_GAUGES(CASTSCOPE_READ_GAUGE)
#undef CASTSCOPE_READ_GAUGE
  s.lost_events = h.lost_events.load(std::memory_order_relaxed);
  s.lost = {};
  add(s.lost, h.lost);
  s.lost_other = {.site = h.lost_other.site.load(std::memory_order_relaxed)};
  add(s.lost_other, h.lost_other);
  return s;
}

bool SegmentReader::refresh() {
  if (!error_.empty()) return false;
  if (!update_limit()) return false;
  learn_clock();
  return find_lanes();
}

bool SegmentReader::update_limit() {
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base_);
  struct stat now {};
  if (fstat(fd_, &now) != 0) return fail(std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(now.st_size);
  const std::uint64_t allocated = header.allocated.load(std::memory_order_acquire);
  // A file that shrank would be a SIGBUS at the next look.
  if (size < limit_ || size < kPage) return fail("the file has been cut short");
  limit_ = std::max(limit_, std::min({size, allocated, mapped_}));  // never shrinks: lanes point into it
  if (limit_ < kPage) return fail("its header claims less than a page");
  return true;
}

void SegmentReader::learn_clock() {
  if (conversion_.settled()) return;
  const auto& h = *reinterpret_cast<const SegmentHeader*>(base_);
  const std::uint64_t before = h.pair_sequence.load(std::memory_order_acquire);
  const std::uint64_t clock1 = h.clock1.load(std::memory_order_relaxed);
  const std::uint64_t monotonic1 = h.monotonic1_ns.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (before % 2 == 0 && h.pair_sequence.load(std::memory_order_relaxed) == before)
    conversion_.learn(clock1, monotonic1);
  // The writer's second pair may be as old as its first; a steady counter reads the same here.
  if (clock_kind_ == kOwnCounter) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    conversion_.learn(machine::ticks(), static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                                            static_cast<std::uint64_t>(now.tv_nsec));
  }
}

bool SegmentReader::find_lanes() {
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base_);
  for (;;) {
    const std::uint64_t next = last_lane_ == 0 ? header.first_lane.load(std::memory_order_acquire)
                                               : at<Lane>(last_lane_)->next.load(std::memory_order_acquire);
    if (next == 0) return true;
    // This lane was linked after our last look at what is reserved: what the link covers is reserved by now.
    if (!update_limit()) return false;
    if (find_lane(next)) continue;
    if (lanes_.empty()) return fail("a lane lies outside the file");
    lose("a lane cannot be found, and what it and those after it hold is missing");
    return true;
  }
}

// Lanes are appended and blocks come from a bump allocator: a chain whose offsets do not rise is a loop.
bool SegmentReader::find_lane(std::uint64_t offset) {
  const Lane* lane = offset <= last_lane_ ? nullptr : at<Lane>(offset);
  if (lane == nullptr) return false;
  add_lane(offset, *lane);
  last_lane_ = offset;
  return true;
}

bool SegmentReader::find_ring(LaneView& view, const Lane& lane) {
  view.capacity = lane.ring_capacity;
  if (view.capacity == 0) return true;
  if ((view.capacity & (view.capacity - 1)) == 0) view.ring = at<Event>(lane.ring, view.capacity);
  if (view.ring != nullptr) return true;
  view.capacity = 0;
  return false;
}

void SegmentReader::add_lane(std::uint64_t offset, const Lane& lane) {
  LaneView view;
  view.offset = offset;
  view.id = static_cast<std::uint32_t>(lanes_.size()) + 1;
  if (lane.id != view.id) lose("a lane has another number than its place gives it");
  const std::uint64_t tail = lane.tail.load(std::memory_order_relaxed);
  const std::uint64_t head = lane.head.load(std::memory_order_acquire);
  view.events_end = !find_ring(view, lane) || tail > head || head - tail > view.capacity;
  if (view.events_end)
    lose("the ring of a lane lies outside the file, or holds more events than it has room for: its events are missing");
  view.taken = view.released = view.events_end ? 0 : tail;
  view.values.emplace_back();  // row of the overflow counter
  if (const std::uint32_t other = lane.other.site.load(std::memory_order_relaxed); other != 0) {
    view.row_of_site[other] = view.other = static_cast<std::uint32_t>(view.values.size());
    view.values.emplace_back().site = other;
  }
  lanes_.push_back(std::move(view));
}

LaneState SegmentReader::lane_state(std::size_t index) {
  LaneView& view = lanes_[index];
  if (!error_.empty()) return view.state;
  const Lane& lane = *at<Lane>(view.offset);
  view.state.id = view.id;
  view.state.tid = lane.tid.load(std::memory_order_relaxed);
  if (!view.events_end) view.state.written = lane.head.load(std::memory_order_acquire);
  view.state.dropped = lane.dropped.load(std::memory_order_relaxed);
  return view.state;
}

std::size_t SegmentReader::take(std::size_t index, std::size_t at_most, std::vector<Event>* events,
                                std::uint64_t* first) {
  if (!error_.empty()) return 0;
  LaneView& view = lanes_[index];
  *first = view.taken;
  const std::uint64_t head = at<Lane>(view.offset)->head.load(std::memory_order_acquire);
  if (view.events_end) return 0;
  if (head < view.taken || head - view.released > view.capacity) {
    lose("a ring holds more events than it has room for: the later events of its lane are missing");
    view.events_end = true;
    view.state.written = std::max(view.state.written, view.taken);
    return 0;
  }
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(head - view.taken, at_most));
  for (std::size_t done = 0; done < count;) {
    const std::size_t begin = (view.taken + done) & (view.capacity - 1);
    const std::size_t run = std::min<std::size_t>(count - done, view.capacity - begin);
    events->insert(events->end(), view.ring + begin, view.ring + begin + run);
    done += run;
  }
  view.taken += count;
  return count;
}

void SegmentReader::release(std::size_t index, std::uint64_t end) {
  LaneView& view = lanes_[index];
  if (!error_.empty() || end <= view.released || end > view.taken) return;
  view.released = end;
  // The one word that a reader writes. Release order: what was copied out has been copied before the writer may reuse
  // it.
  auto* lane = const_cast<Lane*>(at<Lane>(view.offset));
  lane->tail.store(end, std::memory_order_release);
}

bool SegmentReader::find_counter_block(LaneView& view) {
  const std::uint64_t last = view.blocks.empty() ? 0 : view.blocks.back();
  const std::uint64_t next = last == 0 ? at<Lane>(view.offset)->first_counters.load(std::memory_order_acquire)
                                       : at<CounterBlock>(last)->next.load(std::memory_order_acquire);
  if (next <= last || at<CounterBlock>(next) == nullptr) return false;  // offsets that do not rise are a loop
  view.blocks.push_back(next);
  return true;
}

void SegmentReader::find_counters(LaneView& view, std::uint64_t n) {
  while (view.blocks.size() * kCountersPerBlock < n) {
    if (find_counter_block(view)) continue;
    lose("a block of counters lies outside the file or in a loop: what is counted in it, and behind it, is missing");
    n = view.blocks.size() * kCountersPerBlock;
  }
  while (view.rows.size() < n) {
    const std::size_t i = view.rows.size();
    const auto& counter = at<CounterBlock>(view.blocks[i / kCountersPerBlock])->counters[i % kCountersPerBlock];
    const std::uint32_t site = counter.site.load(std::memory_order_relaxed);
    // A lane that passed from one thread to another may count one site twice; the two counters belong together.
    std::uint32_t row = 0;
    if (site != 0) {
      const auto [it, fresh] = view.row_of_site.try_emplace(site, static_cast<std::uint32_t>(view.values.size()));
      if (fresh) view.values.emplace_back().site = site;
      row = it->second;
    }
    view.rows.push_back(row);
  }
}

const std::vector<CounterValues>& SegmentReader::counters(std::size_t index) {
  LaneView& view = lanes_[index];
  if (!error_.empty()) return view.values;
  const Lane& lane = *at<Lane>(view.offset);
  const std::uint64_t n = lane.n_counters.load(std::memory_order_acquire);
  // New blocks may lie past what was reserved at the last look.
  if (n > view.rows.size()) {
    if (!update_limit()) return view.values;
    find_counters(view, n);
  }
  for (CounterValues& v : view.values) v = CounterValues{.site = v.site};
  add(view.values[0], lane.overflow);
  add(view.values[view.other], lane.other);
  for (std::size_t i = 0; i < view.rows.size(); ++i)
    add(view.values[view.rows[i]],
        at<CounterBlock>(view.blocks[i / kCountersPerBlock])->counters[i % kCountersPerBlock]);
  return view.values;
}

bool SegmentReader::definitions(std::size_t at_most, std::string* records) {
  if (!error_.empty() || !update_limit()) return false;
  const std::size_t goal = records->size() + at_most;
  for (;;) {
    const auto& header = *reinterpret_cast<const SegmentHeader*>(base_);
    const auto* block = definition_.block == 0 ? nullptr : at<DefinitionBlock>(definition_.block);
    // `next` before `end`: a block that has a successor gets no more records.
    const std::uint64_t next =
        (block == nullptr ? header.first_definitions : block->next).load(std::memory_order_acquire);
    if (block != nullptr) {
      const std::uint64_t end = block->end.load(std::memory_order_acquire);
      if (end < definition_.at || end > limit_ - definition_.block)
        return lose("definitions run out of their block: these and later ones are missing"), false;
      while (definition_.at < end) {
        if (records->size() >= goal) return true;
        const char* at_record = base_ + definition_.block + definition_.at;
        const std::uint64_t room = end - definition_.at;
        const std::uint32_t size =
            room < sizeof(DefinitionHeader) ? 0 : reinterpret_cast<const DefinitionHeader*>(at_record)->size;
        if (size < sizeof(DefinitionHeader) || size % 8 != 0 || size > room)
          return lose("a definition has an impossible length: it and later ones are missing"), false;
        records->append(at_record, size);
        definition_.at += size;
      }
    }
    if (next == 0) return false;
    if (next <= definition_.block || at<DefinitionBlock>(next) == nullptr)
      return lose("a block of definitions lies outside the file: the definitions in it and later ones are missing"),
             false;
    definition_.block = next;
    definition_.at = sizeof(DefinitionBlock);
  }
}

}  // namespace castscope::lanes
