// What a run is told, in the order it happens: the seam between ingest (which checks what came over the wire) and
// whoever keeps it (the SQLite store; in tests a recording double). Everything handed over has been validated:
// numbers refer to definitions already handed over, counts never fall, sizes are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "agent/lanes/format.h"
#include "server/store/run/incomplete.h"
#include "server/store/run/row_definitions.h"

namespace castscope::store {

// One process of the run. `key` is unique in the run also when a pid is used twice: "host/pid/start_ticks/n".
struct ProcessInfo {
  std::string key;
  std::string host;
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::uint64_t start_ticks = 0;
  // Wall clock of the segment's begin, ns since the epoch. Event times are ns since this moment.
  std::int64_t begin_realtime_ns = 0;
};

struct CodeLocation {
  std::string file;
  std::string function;
  std::int64_t line = 0;
};

// Definitions arrive with their process-local numbers, texts already resolved.
struct StackInfo {
  std::uint32_t id = 0;
  std::vector<CodeLocation> frames;  // innermost first
  bool truncated = false;
};
struct ModuleInfo {
  std::uint32_t id = 0;
  std::string path, type, root_type;
  std::uint32_t root_number = 0;
};
struct CallSiteInfo {  // may come again with more known: the last one counts
  std::uint32_t id = 0;
  std::string op;  // "" = not known
  std::uint32_t argument = lanes::kUnknownArgument;
  std::string argument_name;
  std::string code_address;
};
struct RegionInfo {
  std::uint32_t id = 0, stack = 0, parent = 0, nesting = 0;
  std::uint8_t device = 0, dtype = 0;
  bool enabled = false, cache_enabled = false;
  lanes::RegionKind kind = lanes::RegionKind::kNone;
  std::uint8_t flags = 0;
};
struct SiteInfo {
  std::uint32_t id = 0, stack = 0, module = 0, call_site = 0, region = 0;
  std::uint32_t forward_site = 0;  // cause backward: the cast whose gradient is cast; 0 = not known
  std::string op;                  // of causes other than autocast; "" = not known
  lanes::Role role{};
  lanes::Cause cause{};
  lanes::WhyNotCached why{};
  lanes::Phase phase{};
  std::uint8_t from = 0, to = 0, device = 0, flags = 0;
};
// What deep steps see takes its numbers from the same series as sites.
struct OperatorUseInfo {
  std::uint32_t id = 0, stack = 0, module = 0, region = 0;
  std::string op, node;
  lanes::Phase phase{};
  std::uint8_t device = 0, computed = 0xff, result = 0xff;
  std::uint16_t flags = 0;
  std::vector<lanes::Operand> operands;          // at most lanes::kMostOperands
  std::vector<std::string> argument_names = {};  // of the operands, in the schema; empty = not known
};
struct KernelInfo {
  std::uint32_t id = 0, site = 0, use = 0;
  std::string op, name, origin;
  std::uint16_t device = 0;
  lanes::GpuWork work{};
  std::uint8_t flags = 0;
};
struct ThreadInfo {
  std::uint32_t id = 0, lane = 0, tid = 0;
  std::string name;
};
struct AttributeInfo {  // of the process: it has no number
  std::string name, value;
};
// And those of row_definitions.h, with the numbers of the process.
#define CASTSCOPE_ALTERNATIVE(Type, ...) , Type
using Definition =
    std::variant<AttributeInfo, StackInfo, ModuleInfo, CallSiteInfo, RegionInfo, SiteInfo, OperatorUseInfo, KernelInfo,
                 ThreadInfo CASTSCOPE_ROW_DEFINITIONS(CASTSCOPE_ALTERNATIVE)>;
#undef CASTSCOPE_ALTERNATIVE

// Absolute values, so that handing one over twice does no harm. site = number of a site, or of what deep steps see
// (operator use, flow, fact, kernel, product); of the latter `casts` is how often it was seen (lanes::Counter), of a
// kernel `hits` its ns on the device. site 0 = the lane's overflow counter;
// lane 0 = calls of threads that could get no lane.
struct CounterRow {
  std::uint32_t lane = 0, site = 0;
  std::uint64_t casts = 0, hits = 0, passes = 0, traced = 0, bytes = 0, cpu_ns = 0, kept = 0;
};

// Counts never fall. A smaller one comes from an old message that was sent again, or from a sender that began anew
// under the name of one that is known. Returns true if the count rose.
inline bool raise(std::uint64_t& known, std::uint64_t count) {
  if (count <= known) return false;
  known = count;
  return true;
}
// The same for each count of a row.
inline bool raise(CounterRow& known, const CounterRow& row) {
  bool rose = false;
  for (const auto count : {&CounterRow::casts, &CounterRow::hits, &CounterRow::passes, &CounterRow::traced,
                           &CounterRow::bytes, &CounterRow::cpu_ns, &CounterRow::kept})
    rose |= raise(known.*count, row.*count);
  return rose;
}

struct LaneRow {  // absolute
  std::uint32_t lane = 0, tid = 0;
  std::uint64_t written = 0;   // events published by the writer
  std::uint64_t dropped = 0;   // not written: the ring was full
  std::uint64_t received = 0;  // handed over by events() so far
  std::uint64_t next = 0;      // number in the lane of the event after the last one handed over; keep it as it is
};

// What a run that is continued (a collector restarted on its file, `castscope recover`) already holds of a lane:
// received and next of its last LaneRow.
struct LanePosition {
  std::uint64_t received = 0, next = 0;
};

struct Gauges {  // absolute, of a process
#define CASTSCOPE_GAUGE(name, ...) std::uint64_t name = 0;
  CASTSCOPE_GAUGES(CASTSCOPE_GAUGE)
#undef CASTSCOPE_GAUGE
};

enum class ProcessEnd : std::uint8_t {
  kNotSeen = 0,   // the relay stopped watching while the process still ran
  kExited = 1,    // it wrote its end mark
  kReplaced = 2,  // by exec
  kVanished = 3,  // it is gone without a mark: killed
};

// Events of one lane in order. Times are ns since ProcessInfo::begin_realtime_ns (Event::time and ::duration are
// already converted from the segment's clock). `packed` is the same block as proto/event_block packs it, to be
// stored as it is.
struct EventBlock {
  std::uint32_t lane = 0;
  std::span<const lanes::Event> events;
  std::string_view packed;
};

// A sender of the run, and what it said of the job's end.
struct RelayState {
  std::string relay;
  std::uint64_t acknowledged = 0;  // its messages up to this number are in the file
  bool said_goodbye = false;       // the last of them was its goodbye, which said this:
  int exit_status = -1, signal = 0;
  std::uint32_t still_running = 0;
  std::uint32_t expected_ranks = 0, seen_ranks = 0;  // of its machine; 0 = none told of itself
  bool operator==(const RelayState&) const = default;
};

struct EarlierLife {
  std::vector<RelayState> relays;
  std::vector<ProcessInfo> processes;
  std::vector<Incomplete> rejected;  // processes that were rejected, each with its sentence
  std::optional<std::int64_t> end_ns =
      {};  // the run's end as the file told it, since the epoch; nothing = it told none
};

class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual absl::Status process(const ProcessInfo&) = 0;  // first mention of `key`
  // The same definition may come again. Numbers in it refer to what was defined before.
  virtual absl::Status define(const std::string& key, const Definition&) = 0;
  virtual absl::Status events(const std::string& key, const EventBlock&) = 0;
  virtual absl::Status counters(const std::string& key, std::span<const CounterRow>) = 0;
  virtual absl::Status lanes(const std::string& key, std::span<const LaneRow>) = 0;
  virtual absl::Status gauges(const std::string& key, const Gauges&) = 0;
  // exit_status: 0 to 255 as a parent sees it, 128 + signal when a signal killed it, -1 when not known.
  virtual absl::Status process_end(const std::string& key, ProcessEnd, int exit_status) = 0;
  // Something was not taken, and the run is not complete for it. `process` is the key of the process that it came from,
  // whether introduced or not; "" = none. Saying the same again does no harm.
  virtual absl::Status incomplete(IncompleteReason, const std::string& process, const std::string& sentence) = 0;
  virtual absl::Status notice(const std::string& sentence) = 0;  // for the report; the same again does no harm
  // Asked once per (process, lane), before its first events(): what an earlier life of this run made durable, so that
  // resent events are neither lost nor doubled. A process or definition of the earlier life may be handed over again.
  virtual LanePosition position(const std::string& /*key*/, std::uint32_t /*lane*/) { return {}; }
  // Whether an earlier life of this run made a counter of this site durable.
  virtual bool has_counter(const std::string& /*key*/, std::uint32_t /*lane*/, std::uint32_t /*site*/) { return false; }
  // Returns what an earlier collector wrote into the file about the run's senders. It is called once, before anything
  // is handed over.
  virtual EarlierLife earlier_life() { return {}; }
  // This becomes durable with the next commit(), instead of what was said of the relay before.
  virtual absl::Status relay(const RelayState&) = 0;
  // Makes what was handed over so far durable and visible to readers; an acknowledgement may be sent after it.
  virtual absl::Status commit() = 0;
};

}  // namespace castscope::store
