// The shared-memory format in which the traced process hands over what it saw. docs/lanes.md explains it with
// a worked example; this header is the format. One segment file per process, mapped by the process (writer) and
// by the relay (reader):
//
//   offset 0      SegmentHeader (one page)
//   then, in any order, blocks from a bump allocator, each 64-byte aligned:
//     Lane           one per thread at a time: its cursor words, its two overflow counters
//     Event[]        the lane's ring, capacity a power of two; a late lane may have none
//     CounterBlock   127 counters, chained; counters are appended, never moved or removed
//     DefinitionBlock  chained; records appended, never changed
//
// Who may write what: everything is written by the traced process except Lane::tail, which only the reader writes.
// A lane is written by the one thread that holds it; SegmentHeader and definitions under a mutex inside the process.
// No lock is shared between processes: a killed writer can leave nothing behind that blocks a reader.
// How words are published: `head`, `n_counters`, `definitions_end`, `next` are stored with release after what they
// cover. Numbers are little-endian; a reader refuses another magic or version rather than guess.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/lanes/definition_records.h"
#include "agent/lanes/gauges.h"

namespace castscope::lanes {

inline constexpr std::uint64_t kMagic = 0x454e414c54534143;  // "CASTLANE" in little-endian order
inline constexpr std::uint32_t kVersion = 9 + kAddedGauges;
inline constexpr std::uint64_t kPage = 4096;
inline constexpr std::uint64_t kAlignment = 64;

// The segment never grows past this: with the agent's own tables it stays under 64 MB per process.
inline constexpr std::uint64_t kMaxSegmentBytes = 48ull << 20;

// 2^15 events * 64 B = 2 MB per thread: at 1 M events/s the reader may be away for 32 ms.
inline constexpr std::uint32_t kDefaultRingEvents = 1u << 15;
inline constexpr std::uint32_t kSmallestRingEvents = 1u << 8;

// Rings get smaller as lanes are added, so that counters have room. A ring takes at most an eighth of what is left of
// two thirds of the segment; beyond that only the smallest ring is given. Past five sixths a lane has no ring.
constexpr std::uint64_t ring_share(std::uint64_t segment) { return segment / 6 * 4; }
constexpr std::uint64_t most_ring_bytes(std::uint64_t segment) { return segment / 6 * 5; }
// Room that only lanes without a ring may take, so that each thread has its counts when nothing else fits any more.
inline constexpr std::uint32_t kSpareLanes = 48;
inline constexpr std::uint32_t kMostLanes = 1u << 15;

// ---------------------------------------------------------------------------------------------------------------

template <typename T>
using Shared = std::atomic<T>;  // lock-free and of T's size: asserted below

// Events that only serve the picture, and whose counts are kept elsewhere (kOperator, kPass), are left out, and not
// counted as dropped, while the ring holds as many events as this: three eighths of the ring are for the events that
// make up steps. This is more than the half that waits in the ring for acknowledgements
// (server/relay/segment_source.cc), so that a reader who keeps up makes room for both.
constexpr std::uint64_t most_with_picture(std::uint64_t ring_events) { return ring_events * 5 / 8; }

// A counter counts a site, or something that deep steps see (an operator use, a flow, a fact, a kernel, a matrix
// product): all take their numbers from one series. For the latter, `casts` is how often it was seen in deep steps. An
// operator use also has the `bytes` of its results and the `ticks` from begin to end, including what it calls. A kernel
// also has the `bytes` that it moved and, in `hits`, its time on the device in ns. The other words are 0.
struct alignas(64) Counter {
  Shared<std::uint32_t> site;  // definition number; 0 = calls of cached_cast whose site has no counter
  std::uint32_t version;  // used by the writer only: version counter of the source that was last kept, or served, here;
                          // at a site whose copies are not kept: whether the cast tensors may be weights
  Shared<std::uint64_t> casts;   // conversions made
  Shared<std::uint64_t> hits;    // served from the autocast cache
  Shared<std::uint64_t> passes;  // cached_cast returned its argument
  Shared<std::uint64_t> traced;  // cached_cast on a FakeTensor, whatever the outcome
  Shared<std::uint64_t> bytes;   // bytes of the copies that the casts made
  Shared<std::uint64_t> ticks;   // CPU time of the casts, in the segment's clock
  Shared<std::uint64_t> kept;    // casts whose result went into the autocast cache
};

enum class EventKind : std::uint8_t {
  kNone = 0,
  kCast = 1,         // site
  kHit = 2,          // site
  kRegionEnter = 3,  // site = region definition
  kRegionExit = 4,   // site = region definition
  kCacheClear = 5,   // ClearEvent
  kStep = 6,         // step = the number that begins here; flags = StepReason
  kOptimizer = 7,    // an optimizer step was taken; site = fact kOptimizerStep, 0 = not known
  kScaler = 8,     // GradScaler acted, or gradients were clipped; site = fact kUnscale, kUpdate, kScale, kClip, 0 = not
                   // known. kUpdate: ScalerEvent
  kThread = 9,     // site = thread definition: the lane belongs to this thread from here on
  kDeep = 10,      // flags: 1 = from here on every operator is looked at, 0 = no longer
  kValues = 11,    // a tensor's sampled values, ValuesEvent: site = cast site (its source) or operator use (its result)
  kBackward = 12,  // backward was called; site = fact kBackward
  // An operator was looked at; site = its use, which also counts it; duration and bytes are those of the call and its
  // results; flags = how many other uses were open around it in this thread. Written when the operator ends: `time`,
  // its begin, lies before that of events already written (its casts, and operators within).
  kOperator = 13,
  kPass = 14,  // cached_cast returned its argument while operators are looked at; site = pass-through site
  // A GPU did something; site = its kernel definition, which also counts it; time and duration are those on the device,
  // converted to the segment's clock; step = the step in which it was launched; KernelEvent. Written to the lane of the
  // thread that reads GPU records.
  kKernel = 15,
  kMetric = 16,  // the job told a number of its step, MetricEvent; site = fact kMetric
};
inline constexpr EventKind kLastEventKind = EventKind::kMetric;

enum class StepReason : std::uint8_t { kOptimizer = 1, kRegionEnd = 2, kExplicit = 3 };

inline constexpr std::uint8_t kFlagKept = 1;  // kCast: the copy went into the cache
// kCast: the source is identified by the address of its data. This holds for views, and for tensors that require no
// grad: they are often made anew for each use (w.t(), w.data), while their data stay.
inline constexpr std::uint8_t kFlagData = 2;
// kRegionEnter, kRegionExit: the region was open when this process was forked. Its parent entered it, and leaves it
// too.
inline constexpr std::uint8_t kFlagInherited = 4;

// kValues: the finite nonzero values differ in size.
inline constexpr std::uint8_t kFlagDiffer = 8;
// kCast: the first cast that this thread's counter of the site counts. It may pay for page faults and the start of
// threads.
inline constexpr std::uint8_t kFlagFirst = 16;

// kCast, beside kFlagKept: grad mode was on.
inline constexpr std::uint8_t kFlagGradMode = 32;
// kValues: of an integer argument that the operator took together with a half, whose dtype it got.
inline constexpr std::uint8_t kFlagArgument = 64;
// kValues: the half that is cast to does not hold some of the sampled whole numbers.
inline constexpr std::uint8_t kFlagRounds = 128;

// The meaning of the private words depends on the kind: event_views.h.
struct alignas(64) Event {
  std::uint64_t time;  // segment clock at the begin of the call; kPass: at its end
 private:
  friend struct EventWords;
  std::uint64_t tensor;

 public:
  std::uint64_t bytes;     // kCast: of the copy; kOperator: of its results; kKernel: bytes moved; else: event_views.h
  std::uint32_t duration;  // kCast, kOperator, kKernel: segment clock, saturating
  std::uint32_t site;
  std::uint32_t step;
  std::uint32_t region;  // serial number of the open region in this process; 0 = none
 private:
  std::uint32_t dims[4];
  std::uint32_t entries;

 public:
  EventKind kind;
  std::uint8_t flags;
  std::uint8_t ndim;
  std::uint8_t reserved;
};

struct alignas(64) Lane {
  Shared<std::uint64_t> next;            // offset of the next lane; 0 = last
  std::uint32_t id;                      // 1, 2, …
  Shared<std::uint32_t> tid;             // kernel thread id of the present (or last) holder
  Shared<std::uint32_t> held;            // 1 while a thread holds it; a free lane may be taken by a new thread
  std::uint32_t ring_capacity;           // events, a power of two; 0 = no ring, every event is dropped
  std::uint64_t ring;                    // offset of Event[ring_capacity]; 0 = no ring
  Shared<std::uint64_t> first_counters;  // offset of the first CounterBlock; 0 = none yet
  std::uint64_t reserved[3];
  // written by the writer only
  alignas(64) Shared<std::uint64_t> head;  // events ever published; event i is at ring[i % capacity]
  Shared<std::uint64_t> dropped;           // events not written because the ring was full
  Shared<std::uint64_t> n_counters;        // counters ever begun
  // calls whose site could not be given a counter: these two stay exact
  Counter overflow;  // calls of cached_cast
  Counter other;     // other causes; its site is a definition that only says so
  // written by the reader only: its only word
  alignas(64) Shared<std::uint64_t> tail;  // events taken
};

inline constexpr std::uint32_t kCountersPerBlock = 127;
struct alignas(64) CounterBlock {
  Shared<std::uint64_t> next;  // offset; 0 = last
  std::uint64_t reserved[7];
  Counter counters[kCountersPerBlock];
};

inline constexpr std::uint64_t kDefinitionBlockBytes = 64 << 10;
struct alignas(64) DefinitionBlock {
  Shared<std::uint64_t> next;  // offset; 0 = last
  std::uint64_t size;          // bytes of this block, header included
  Shared<std::uint64_t> end;   // bytes used, header included; the bytes before it never change
  std::uint64_t reserved[5];
};

enum class EndMark : std::uint32_t { kRunning = 0, kExited = 1 };
// kTsc is the counter of x86-64, kGenericTimer that of 64-bit ARM (agent/lanes/own_counter.h): a reader on another
// processor, as beside an emulator, has no such counter and takes both pairs of readings from the header.
enum class Clock : std::uint32_t { kTsc = 1, kMonotonicNs = 2, kGenericTimer = 3 };

struct SegmentHeader {
  Shared<std::uint64_t> magic;  // written last: a file without it is not ready
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(SegmentHeader)
  std::uint32_t event_bytes;
  std::uint32_t counter_bytes;
  std::uint64_t max_bytes;                  // the file never grows past this
  Shared<std::uint64_t> allocated;          // bytes of the file that are reserved and may be read
  Shared<std::uint64_t> first_lane;         // offset, 0 = none
  Shared<std::uint64_t> first_definitions;  // offset
  Shared<std::uint32_t> end_mark;           // EndMark
  std::uint32_t pid;
  std::uint32_t parent_pid;
  Clock clock;
  std::uint64_t start_ticks;  // /proc/PID/stat field 22: tells a reused pid apart
  // two pairs: ns = monotonic0 + (t - clock0) * (monotonic1 - monotonic0) / (clock1 - clock0)
  std::uint64_t clock0, monotonic0_ns, realtime0_ns;
  Shared<std::uint64_t> pair_sequence;  // odd while the second pair is being written
  Shared<std::uint64_t> clock1, monotonic1_ns;
  // process-wide; written by any thread with atomic adds, off the hot path
#define CASTSCOPE_WORD_OF_GAUGE(name, word, ...) Shared<std::uint64_t> word;
  CASTSCOPE_FIRST_GAUGES(CASTSCOPE_WORD_OF_GAUGE)
  Shared<std::uint64_t> lost_events;  // dropped by threads that could get no lane
  Shared<std::uint64_t> exit_status;  // with kExited: status given to exit(), + 1; 0 = not known
  CASTSCOPE_LATER_GAUGES(CASTSCOPE_WORD_OF_GAUGE)
#undef CASTSCOPE_WORD_OF_GAUGE
  // counts of threads that could get no lane: as Lane::overflow and Lane::other, added to atomically
  Counter lost, lost_other;
};

static_assert(sizeof(Counter) == 64 && sizeof(Event) == 64);
static_assert(sizeof(Lane) == 64 * 5 && offsetof(Lane, head) == 64 && offsetof(Lane, overflow) == 128);
static_assert(sizeof(CounterBlock) == 64 * (kCountersPerBlock + 1));
static_assert(sizeof(DefinitionBlock) == 64);
static_assert(sizeof(SegmentHeader) <= kPage);
static_assert(Shared<std::uint64_t>::is_always_lock_free && sizeof(Shared<std::uint64_t>) == 8);
static_assert(Shared<std::uint32_t>::is_always_lock_free && sizeof(Shared<std::uint32_t>) == 4);

}  // namespace castscope::lanes

// ---------------------------------------------------------------------------------------------------------------
// Who moves what from state to state. Every arrow is a store with release; whoever reads the word loads it with
// acquire.
//
// A segment:
//                writer: magic                    writer: end_mark = kExited
//   not ready  ---------------->  recording  -------------------------------------->  ended
//   (reader: tries again)             |
//                                     |  the writer is killed, or becomes another program (exec): nothing is written
//                                     +---------------------------------------------->  vanished
//                                        (reader: no process has this pid and start_ticks any more)
//
// A lane, by Lane::held:
//           writer: a thread makes or takes it          writer: its thread ends
//   free  ------------------------------------>  held  ------------------------->  free, with all of its counts
//   Its counters stay and go on counting for the next thread; kThread says to whom later events belong.
//
// A place in a ring of c events, by Lane::head (h) and Lane::tail (t), which only grow: event i lies at ring[i % c].
//
//   t <= i < h        published: the reader may read it, the writer does not touch it
//   h <= i < t + c    free: the writer may fill it; nobody else looks at it
//
//           writer fills it, head = i + 1                  reader has taken it, tail = i + 1
//   free  ------------------------------->  published  ------------------------------------>  free, as event i + c
//
//   h == t + c        full: the writer counts the event in Lane::dropped and goes on; it never waits.
//   h - t > most_with_picture(c)
//                     events that only serve the picture are left out and counted nowhere.
//
// A counter or a record: behind n_counters, or behind DefinitionBlock::end, it is being made and nobody looks at it;
// before that it is published. A counter's words only grow; a record never changes again.
