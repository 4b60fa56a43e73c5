#include "server/ingest/validation/validator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/protocol.h"
#include "server/ingest/validation/plain_events.h"
#include "server/ingest/validation/record.h"
#include "server/utf8/utf8.h"

namespace castscope::ingest {
namespace {

using store::CounterRow;

// These limits are far above any job, and far below what would hurt the collector.
constexpr std::size_t kMostLanes = 1u << 16;     // twice what a segment has
constexpr std::size_t kMostCounters = 1u << 20;  // a segment of 48 MB has room for 786432
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kProcessBytes = 128;  // of a process without its names, in the run file, about

CounterRow sum(const CounterRow& a, const CounterRow& b, std::uint64_t sign = 1) {
  CounterRow s = a;
  s.casts += sign * b.casts;
  s.hits += sign * b.hits;
  s.passes += sign * b.passes;
  s.traced += sign * b.traced;
  s.bytes += sign * b.bytes;
  s.cpu_ns += sign * b.cpu_ns;
  s.kept += sign * b.kept;
  return s;
}

}  // namespace

void ProcessValidator::adopt_rejection(const std::string& sentence) {
  silenced_ = true;
  rejected_before_ = sentence;
}

Verdict ProcessValidator::apply(const v1::Batch& batch, store::RunSink& sink, bool take_events) {
  if (!rejected_before_.empty()) return {.rejected = invalid(std::exchange(rejected_before_, {})), .failed = {}};
  if (silenced_) return {};
  sink_error_ = absl::OkStatus();
  const absl::Status status = apply_checked(batch, sink, take_events);
  if (status.ok()) return {};
  if (!sink_error_.ok()) return {.rejected = {}, .failed = sink_error_};
  silenced_ = true;
  return {.rejected = absl::InvalidArgumentError(
              absl::StrCat("process ", key_, " sent ", std::string(status.message()), "; the rest of it is ignored")),
          .failed = {}};
}

absl::Status ProcessValidator::kept(absl::Status status) {
  if (!status.ok()) sink_error_ = status;
  return status;
}

absl::Status ProcessValidator::lose(Part part, const std::string& what, store::RunSink& sink) {
  if (std::exchange(lost_[static_cast<std::size_t>(part)], true)) return absl::OkStatus();
  const char* const lost = part == Part::kEvents        ? "; its counts were taken, and not all of its events"
                           : part == Part::kDefinitions ? "; its counts were taken, and not all of its definitions"
                                                        : "; its other counts were taken";
  return kept(sink.incomplete(store::IncompleteReason::kPartRejected, key_,
                              absl::StrCat("process ", key_, " sent ", what, lost)));
}

absl::Status ProcessValidator::apply_checked(const v1::Batch& batch, store::RunSink& sink, bool take_events) {
  if (batch.has_process_begin()) {
    if (absl::Status status = begin(batch.process_begin(), sink); !status.ok()) return status;
  }
  if (!begun_)
    return invalid(identity_ ? "a batch, and was not introduced again after the collector was started again"
                             : "a batch before it was introduced");
  // Definitions come first, since events and counters of the same batch refer to them.
  if (absl::Status status = definitions(batch, sink); !status.ok()) return status;
  events_of_batch_ = 0;
  for (const v1::Events& block : batch.event_blocks())
    if (absl::Status status = events(block, sink, take_events); !status.ok()) return status;
  if (absl::Status status = counters(batch.counters(), sink); !status.ok()) return status;
  if (absl::Status status = lanes(batch, sink); !status.ok()) return status;
  if (batch.has_gauges()) {
    if (absl::Status status = gauges(batch.gauges(), sink); !status.ok()) return status;
  }
  return batch.has_process_end() ? end(batch.process_end(), sink) : absl::OkStatus();
}

absl::Status ProcessValidator::definitions(const v1::Batch& batch, store::RunSink& sink) {
  const bool has_ended = last_end_ > v1::PROCESS_END_KIND_NOT_SEEN;
  const std::uint64_t before = definitions_.bytes();
  // After its end a process tells nothing new: a relay that comes back says again what counts already.
  const std::uint64_t most = has_ended ? bytes_at_end_ : before + sums_->room_for_definitions();
  if (absl::Status status = take_definitions(batch, most, sink); !status.ok()) return status;
  if (!has_ended) return sums_->define(definitions_.bytes() - before);
  return definitions_.bytes() <= most ? absl::OkStatus() : lose(Part::kDefinitions, "definitions after its end", sink);
}

// Plain definitions become records: from there on both forms are one.
absl::Status ProcessValidator::take_definitions(const v1::Batch& batch, std::uint64_t most, store::RunSink& sink) {
  if (batch.plain_definitions().empty() && !plain_.used()) {
    const absl::Status status = definitions_.apply(key_, batch.definitions(), most, sink, &sink_error_);
    return !status.ok() || definitions_.damage().empty() ? status
                                                         : lose(Part::kDefinitions, definitions_.damage(), sink);
  }
  if (!batch.definitions().empty()) return invalid("both packed and plain definitions");
  std::string records;
  if (absl::Status status = plain_.pack(batch.plain_definitions(), &records); !status.ok()) return status;
  const absl::Status status = definitions_.apply(key_, records, most, sink, &sink_error_);
  return status.ok() && !definitions_.damage().empty() ? invalid(definitions_.damage()) : status;
}

absl::Status ProcessValidator::begin(const v1::ProcessBegin& begin, store::RunSink& sink) {
  if (begin.pid() < 0 || begin.parent_pid() < 0) return invalid("a negative process id");
  if (begin.host().size() > kLongestText) return invalid("a host name of thousands of letters");
  if (begin.start_epoch_ns() < 0 || begin.start_epoch_ns() > kLatestStart)
    return invalid(absl::StrCat("a start of ", begin.start_epoch_ns(), " ns since 1970"));
  if (begin.start_ticks() > kMostCount) return invalid(beyond_bounds("start time", begin.start_ticks()));
  const Identity identity{begin.host(), begin.pid(), begin.start_ticks()};
  if (identity_ && identity != *identity_)
    return invalid(absl::StrCat("an introduction as process ", begin.pid(), " of host ", utf8::quoted(begin.host()),
                                " with start_ticks ", begin.start_ticks(), ", though it is process ", identity_->pid,
                                " of host ", utf8::quoted(identity_->host), " with start_ticks ",
                                identity_->start_ticks, ": two processes cannot have one key"));
  if (begun_) return absl::OkStatus();  // it may be sent again after a reconnect
  if (absl::Status status = sums_->define(kProcessBytes + 2 * (key_.size() + begin.host().size())); !status.ok())
    return status;
  begun_ = true;
  identity_ = identity;
  return kept(sink.process({.key = key_,
                            .host = begin.host(),
                            .pid = begin.pid(),
                            .parent_pid = begin.parent_pid(),
                            .start_ticks = begin.start_ticks(),
                            .begin_realtime_ns = begin.start_epoch_ns()}));
}

absl::Status ProcessValidator::lane(std::uint32_t id, store::RunSink& sink, Lane** out) {
  auto it = lanes_.find(id);
  if (it == lanes_.end()) {
    if (id >= kMostLanes) return invalid(absl::StrCat("something of lane ", id, ", and lanes end at ", kMostLanes - 1));
    if (absl::Status status = sums_->add_lane(); !status.ok()) return status;
    it = lanes_.emplace(id, std::make_unique<Lane>()).first;
    it->second->row.lane = id;
  }
  *out = it->second.get();
  if (id != 0 && !(*out)->positioned) {
    const store::LanePosition position = sink.position(key_, id);
    (*out)->row.received = position.received;
    (*out)->row.next = position.next;
    (*out)->positioned = true;
  }
  return absl::OkStatus();
}

absl::Status ProcessValidator::events(const v1::Events& block, store::RunSink& sink, bool take) {
  const std::uint64_t end = block.first_event() + block.event_count();
  absl::Status status;
  Lane* lane = nullptr;
  if (block.lane() == 0)
    status = invalid("events of lane 0");
  else if (block.event_count() == 0 || block.event_count() > wire::kMostEventsInMessageBlock)
    status = invalid(absl::StrCat("a block of ", block.event_count(), " events"));
  else if (end < block.first_event() || end > (std::uint64_t{1} << 62))
    status = invalid("events with impossible numbers");
  else
    status = this->lane(block.lane(), sink, &lane);
  if (status.ok()) {
    if (end <= lane->row.next) return absl::OkStatus();  // already known: sent again after a reconnect
    if (last_end_ > v1::PROCESS_END_KIND_NOT_SEEN) return invalid("events after its end");
    if (take && (events_of_batch_ += block.event_count()) > wire::kMostEventsInBatch)
      status = lose(Part::kEvents, absl::StrCat("more than ", wire::kMostEventsInBatch, " events in a batch"), sink);
    else if (take)
      status = take_events(block, *lane, sink);
    lane->row.next = end;  // of a block that was not taken, too: its events are missing
    lane->touched = true;
  }
  if (status.ok() || !sink_error_.ok() || block.plain_events_size() > 0) return status;
  return lose(Part::kEvents, std::string(status.message()), sink);
}

absl::Status ProcessValidator::take_events(const v1::Events& block, Lane& lane, store::RunSink& sink) {
  if (absl::Status status = unpack(block); !status.ok()) return status;
  std::string repacked;
  bool changed = forget_unknown_keys(keys_) || block.plain_events_size() > 0;
  if (block.first_event() < lane.row.next) {
    unpacked_.erase(unpacked_.begin(),
                    unpacked_.begin() + static_cast<std::ptrdiff_t>(lane.row.next - block.first_event()));
    changed = true;
  }
  if (changed) repacked = wire::pack(unpacked_);
  const std::string& packed = changed ? repacked : block.packed_events();
  lane.row.received += unpacked_.size();
  sums_->received(unpacked_.size());
  return kept(sink.events(key_, {.lane = block.lane(), .events = unpacked_, .packed = packed}));
}

// The events of a block, in whichever form it has them.
absl::Status ProcessValidator::unpack(const v1::Events& block) {
  unpacked_.clear();
  keys_.clear();
  const bool plain = block.plain_events_size() > 0;
  if (plain && !block.packed_events().empty()) return invalid("a block of both packed and plain events");
  if (absl::Status status = plain ? plain_events(block, &unpacked_, &keys_)
                                  : wire::unpack(block.packed_events(), block.event_count(), &unpacked_, &keys_);
      !status.ok())
    return invalid(std::string(status.message()));
  if (unpacked_.size() != block.event_count())
    return invalid(absl::StrCat("a block of ", unpacked_.size(), " events called ", block.event_count()));
  for (const lanes::Event& event : unpacked_) {
    if (event.time > kMostCount) return invalid(beyond_bounds("time of an event", event.time));
    // GradScaler's events and metrics have a floating-point number there.
    const bool is_real = event.kind == lanes::EventKind::kScaler || event.kind == lanes::EventKind::kMetric;
    if (event.bytes > kMostCount && !is_real) return invalid(beyond_bounds("number of bytes in an event", event.bytes));
  }
  return absl::OkStatus();
}

bool ProcessValidator::forget_unknown_keys(const std::vector<wire::EventKey>& keys) {
  const auto known = [this](lanes::EventKind kind, std::uint32_t id) {
    switch (kind) {
      case lanes::EventKind::kCast:
      case lanes::EventKind::kHit:
      case lanes::EventKind::kPass:
        return id == 0 || definitions_.knows_site(id);
      case lanes::EventKind::kRegionEnter:
      case lanes::EventKind::kRegionExit:
        return id == 0 || definitions_.knows_region(id);
      case lanes::EventKind::kOperator:
        return id == 0 || definitions_.knows_operator_use(id);
      case lanes::EventKind::kKernel:
        return id == 0 || definitions_.knows_kernel(id);
      case lanes::EventKind::kThread:
        return id == 0 || definitions_.knows_thread(id);
      case lanes::EventKind::kValues:
        return id == 0 || definitions_.knows_site(id) || definitions_.knows_operator_use(id);
      case lanes::EventKind::kOptimizer:
      case lanes::EventKind::kScaler:
      case lanes::EventKind::kBackward:
      case lanes::EventKind::kMetric:
        return id == 0 || definitions_.knows_fact(id);
      default:
        return id == 0;
    }
  };
  if (std::all_of(keys.begin(), keys.end(), [&](const wire::EventKey& k) { return known(k.kind, k.site); }))
    return false;
  for (lanes::Event& event : unpacked_)
    if (!known(event.kind, event.site)) event.site = 0;
  return true;
}

absl::Status ProcessValidator::counters(const v1::Counters& c, store::RunSink& sink) {
  const int n = c.lane_size();
  if (n > static_cast<int>(wire::kMostCountersInMessage)) return invalid("a batch with too many counters");
  for (const int size : {c.site_size(), c.casts_size(), c.cache_hits_size(), c.pass_throughs_size(), c.traced_size(),
                         c.bytes_size(), c.cpu_ns_size(), c.kept_size()})
    if (size != n) return invalid("counters whose columns differ in length");
  changed_.clear();
  for (int i = 0; i < n; ++i) {
    if (c.site(i) > kLargestDefinitionId)
      if (absl::Status status = lose(Part::kCounts, absl::StrCat("a counter of the impossible site ", c.site(i)), sink);
          !status.ok())
        return status;
    Lane* lane = nullptr;
    if (absl::Status status = this->lane(c.lane(i), sink, &lane); !status.ok()) return status;
    const CounterRow row{.lane = c.lane(i),
                         .site = c.site(i),
                         .casts = c.casts(i),
                         .hits = c.cache_hits(i),
                         .passes = c.pass_throughs(i),
                         .traced = c.traced(i),
                         .bytes = c.bytes(i),
                         .cpu_ns = c.cpu_ns(i),
                         .kept = c.kept(i)};
    if (absl::Status status = count(row, sink); !status.ok()) return status;
    if (counters_.size() > kMostCounters) return invalid("more counters than a segment can hold");
  }
  if (changed_.empty()) return absl::OkStatus();
  return kept(sink.counters(key_, changed_));
}

// A site that was never defined (the process had no room left for its definition) counts with its lane's overflow. One
// that was, before this collector was started again, has its counts in the file already: they must not come twice.
absl::Status ProcessValidator::count(CounterRow row, store::RunSink& sink) {
  const std::uint64_t id = static_cast<std::uint64_t>(row.lane) << 32 | row.site;
  const auto [it, fresh] = counters_.try_emplace(id, Count{.row = {.lane = row.lane, .site = row.site}});
  Count& known = it->second;
  if (fresh) known.orphan = row.site != 0 && !definitions_.knows_number(row.site);
  if (fresh) known.ignored = known.orphan && definitions_.lost_use(row.site);
  if (fresh && known.orphan && sink.has_counter(key_, row.lane, row.site))
    return invalid(absl::StrCat("counters of number ", row.site,
                                ", which it did not define again after the collector was started again"));
  if (fresh)
    if (absl::Status status = sums_->add_counter(); !status.ok()) return status;
  if (known.ignored) return absl::OkStatus();
  const CounterRow before = known.row;
  if (!raise(known.row, row) && !fresh) return absl::OkStatus();
  if (absl::Status status = sums_->count(before, known.row); !status.ok()) {
    known.row = before;
    return lose(Part::kCounts, std::string(status.message()), sink);
  }
  if (row.site != 0 && !known.orphan) {
    changed_.push_back(known.row);
    return absl::OkStatus();
  }
  Lane& lane = *lanes_[row.lane];
  if (known.orphan)
    lane.orphans = sum(sum(lane.orphans, known.row), before, ~std::uint64_t{0});
  else
    lane.own_overflow = known.row;
  CounterRow overflow = sum(lane.own_overflow, lane.orphans);
  overflow.lane = row.lane;
  overflow.site = 0;
  changed_.push_back(overflow);
  return absl::OkStatus();
}

absl::Status ProcessValidator::lanes(const v1::Batch& batch, store::RunSink& sink) {
  for (const v1::LaneState& state : batch.lanes()) {
    // Threads that could get no lane have no ring either.
    if (state.lane() == 0 && state.events_published() != 0) return invalid("events written to lane 0");
    Lane* lane = nullptr;
    if (absl::Status status = this->lane(state.lane(), sink, &lane); !status.ok()) return status;
    const store::LaneRow before = lane->row;
    lane->row.tid = state.tid();
    store::raise(lane->row.written, state.events_published());
    store::raise(lane->row.dropped, state.events_dropped());
    if (absl::Status status = sums_->count(before, lane->row); !status.ok()) return status;
    lane->touched = true;
  }
  // Lanes that only had events are included: their received and next become durable together with these.
  std::vector<store::LaneRow> rows;
  for (const auto& [id, lane] : lanes_) {
    if (!lane->touched) continue;
    lane->touched = false;
    const store::LaneRow before = lane->row;
    store::raise(lane->row.written, lane->row.next);
    if (absl::Status status = sums_->count(before, lane->row); !status.ok()) return status;
    rows.push_back(lane->row);
  }
  if (rows.empty()) return absl::OkStatus();
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.lane < b.lane; });
  return kept(sink.lanes(key_, rows));
}

absl::Status ProcessValidator::gauges(const v1::Gauges& g, store::RunSink& sink) {
#define CASTSCOPE_CHECK_GAUGE(name, ...) \
  if (g.name() > kMostCount) return invalid(beyond_bounds("gauge " #name, g.name()));
  CASTSCOPE_GAUGES(CASTSCOPE_CHECK_GAUGE)
#undef CASTSCOPE_CHECK_GAUGE
#define CASTSCOPE_TAKE_GAUGE(name, ...) .name = g.name(),
  return kept(sink.gauges(key_, {CASTSCOPE_GAUGES(CASTSCOPE_TAKE_GAUGE)}));
#undef CASTSCOPE_TAKE_GAUGE
}

absl::Status ProcessValidator::end(const v1::ProcessEnd& end, store::RunSink& sink) {
  if (!v1::ProcessEndKind_IsValid(end.end_kind())) return invalid("an end of an unknown kind");
  if (end.exit_status() < -1 || end.exit_status() > 255)
    return invalid(absl::StrCat("the exit status ", end.exit_status()));
  if (end.end_kind() == last_end_ && end.exit_status() == last_exit_status_) return absl::OkStatus();
  // Nothing new is defined after the end, and relays send definitions again after a reconnect.
  if (end.end_kind() != v1::PROCESS_END_KIND_NOT_SEEN && last_end_ <= v1::PROCESS_END_KIND_NOT_SEEN) {
    bytes_at_end_ = definitions_.bytes();
    definitions_.forget_all_but_kinds();
  }
  last_end_ = end.end_kind();
  last_exit_status_ = end.exit_status();
  return kept(sink.process_end(key_, static_cast<store::ProcessEnd>(end.end_kind()), end.exit_status()));
}

}  // namespace castscope::ingest
