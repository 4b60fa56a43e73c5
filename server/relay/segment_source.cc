#include "server/relay/segment_source.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "agent/lanes/event_views.h"
#include "proto/batch_checksum.h"
#include "proto/event_block.h"
#include "proto/protocol.h"
#include "server/redaction/messages.h"

namespace castscope::relay {
namespace {

// A block of this size packs well and is not a burst yet. For proto/training_stream.h an event takes 5.1 bytes in a
// block of 256, 3.7 in one of 4096 and 3.5 in one of 16384: it is not worth waiting for more than kGoodBlock.
constexpr std::size_t kEventsPerBlock = 16384, kGoodBlock = 4096;
constexpr std::size_t kDefinitionBytesPerBatch = 1u << 20;
constexpr std::size_t kBlockBytesPerBatch = 1u << 20;
// Each counts as so much at least: a collector takes 1,048,576 events of a batch, and what is all alike takes nothing.
constexpr std::size_t kLeastBytesOfEvent = 2;

v1::ProcessEndKind wire_end(ProcessEnd end) {
  switch (end) {
    case ProcessEnd::kExited:
      return v1::PROCESS_END_KIND_EXITED;
    case ProcessEnd::kReplaced:
      return v1::PROCESS_END_KIND_REPLACED;
    case ProcessEnd::kVanished:
      return v1::PROCESS_END_KIND_VANISHED;
    case ProcessEnd::kRunning:
      break;
  }
  return v1::PROCESS_END_KIND_NOT_SEEN;
}

}  // namespace

SegmentSource::SegmentSource(std::uint64_t id, std::string key, std::string host,
                             std::unique_ptr<lanes::SegmentReader> reader, Clock::duration event_interval,
                             std::shared_ptr<redaction::Redaction> redaction)
    : id_(id),
      key_(std::move(key)),
      host_(std::move(host)),
      event_interval_(event_interval),
      reader_(std::move(reader)),
      redaction_(std::move(redaction)) {}

SegmentSource::Drained SegmentSource::drain(Clock::time_point now, bool take_events) {
  Drained result;
  if (!silenced_.empty()) return result;
  reader_->refresh();
  lanes_.resize(reader_->lane_count());
  if (!take_events) return result;
  const bool is_written = !writer_has_gone_ && reader_->end_mark() == lanes::EndMark::kRunning;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    const std::size_t before = lane.waiting.size();
    std::uint64_t first = 0;
    const std::size_t n = reader_->take(i, kEventsPerBlock - std::min(before, kEventsPerBlock), &lane.waiting, &first);
    if (before == 0) lane.first = first, lane.since = now;
    to_nanoseconds(&lane.waiting, before);
    result.events += n;
    const std::uint64_t capacity = reader_->ring_capacity(i);
    result.busy = result.busy || n > capacity / 8;
    result.batch_full = result.batch_full || lane.waiting.size() >= kEventsPerBlock;
    // Events that are not yet acknowledged stay in the ring, where they outlive this process; but a ring that fills up
    // faster than acknowledgements come needs its room more.
    if (is_written && reader_->taken(i) - reader_->released(i) > capacity / 2) reader_->release(i, reader_->taken(i));
  }
  return result;
}

bool SegmentSource::due(const Lane& lane, Clock::time_point now) const {
  return lane.waiting.size() >= kGoodBlock || (!lane.waiting.empty() && now - lane.since >= event_interval_);
}

bool SegmentSource::has_block(Clock::time_point now) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return due(lane, now); });
}

void SegmentSource::to_nanoseconds(std::vector<lanes::Event>* events, std::size_t from) const {
  const lanes::ClockConversion& clock = reader_->clock();
  for (std::size_t i = from; i < events->size(); ++i) {
    lanes::Event& event = (*events)[i];
    event.time = clock.since_begin_ns(event.time);
    const auto in_ns = [&clock](std::uint32_t ticks) {
      return static_cast<std::uint32_t>(
          std::min<std::uint64_t>(clock.duration_ns(ticks), std::numeric_limits<std::uint32_t>::max()));
    };
    event.duration = in_ns(event.duration);
    if (event.kind != lanes::EventKind::kKernel) continue;
    lanes::KernelEvent kernel = as_kernel(event);
    kernel.waited = in_ns(kernel.waited);
    put(event, kernel);
  }
}

std::unique_ptr<v1::RelayMessage> SegmentSource::new_message() const {
  auto message = std::make_unique<v1::RelayMessage>();
  message->mutable_batch()->set_process_key(key_);
  return message;
}

void SegmentSource::add_begin(v1::Batch* batch) const {
  v1::ProcessBegin& begin = *batch->mutable_process_begin();
  begin.set_host(host_);
  begin.set_pid(reader_->pid());
  begin.set_parent_pid(reader_->parent_pid());
  begin.set_start_ticks(reader_->start_ticks());
  begin.set_start_epoch_ns(static_cast<std::int64_t>(reader_->begin_realtime_ns()));
}

void SegmentSource::add_counter(v1::Counters* to, std::uint32_t lane, const lanes::CounterValues& values) {
  to->add_lane(lane);
  to->add_site(values.site);
  to->add_casts(values.casts);
  to->add_cache_hits(values.hits);
  to->add_pass_throughs(values.passes);
  to->add_traced(values.traced);
  to->add_bytes(values.bytes);
  to->add_cpu_ns(reader_->clock().duration_ns(values.ticks));
  to->add_kept(values.kept);
}

bool SegmentSource::collect_counters(v1::Counters* to) {
  bool more = false;
  const std::size_t lanes = lanes_.size();
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::uint32_t id = reader_->lane_state(i).id;
    for (const lanes::CounterValues& values : reader_->counters(i)) {
      lanes::CounterValues& told = lanes_[i].told[values.site];
      if (told == values || (values == lanes::CounterValues{.site = values.site})) continue;
      if (to->lane_size() >= static_cast<int>(wire::kMostCountersInMessage)) {
        more = true;
        continue;
      }
      told = values;
      add_counter(to, id, values);
    }
  }
  return more;
}

void SegmentSource::collect_states(v1::Batch* to) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const lanes::LaneState state = reader_->lane_state(i);
    Lane& lane = lanes_[i];
    if (lane.state_told && state == lane.state) continue;
    lane.state = state;
    lane.state_told = true;
    v1::LaneState& told = *to->add_lanes();
    told.set_lane(state.id);
    told.set_tid(state.tid);
    told.set_events_published(state.written);
    told.set_events_dropped(state.dropped);
  }
  const lanes::ProcessState state = reader_->process_state();
  if (state_told_ && state == told_state_) return;
  // Lane 0 stands for threads that could get no lane.
  if (!(state.lost == told_state_.lost)) add_counter(to->mutable_counters(), 0, state.lost);
  if (!(state.lost_other == told_state_.lost_other) &&
      !(state.lost_other == lanes::CounterValues{.site = state.lost_other.site}))
    add_counter(to->mutable_counters(), 0, state.lost_other);
  if (state.lost_events != told_state_.lost_events) to->add_lanes()->set_events_dropped(state.lost_events);
  told_state_ = state;
  state_told_ = true;
  v1::Gauges& gauges = *to->mutable_gauges();
  enum class Unit { kNumber, kTicks };
  const auto in_wire_unit = [&](std::uint64_t value, Unit unit) {
    return unit == Unit::kTicks ? reader_->clock().duration_ns(value) : value;
  };
#define CASTSCOPE_SEND_GAUGE(name, word, unit, meaning) gauges.set_##name(in_wire_unit(state.word, Unit::unit));
  CASTSCOPE_GAUGES(CASTSCOPE_SEND_GAUGE)
#undef CASTSCOPE_SEND_GAUGE
}

bool SegmentSource::take_definitions(bool again, std::string* records) {
  const bool more = reader_->definitions(kDefinitionBytesPerBatch, records);
  note_numbers(*records, again);
  if (redaction_ != nullptr) *records = redaction::redacted_records(*redaction_, *records);
  return more;
}

// A process gives the numbers of a kind one after the other; only a call site is told again, when more is known of it.
bool SegmentSource::is_in_order(const lanes::DefinitionHeader& header) {
  if (header.kind == lanes::DefinitionKind::kCallSite) return true;
  const bool beside_sites = lanes::is_counted_beside_sites(header.kind);
  std::uint32_t& last = last_ids_[beside_sites ? lanes::DefinitionKind::kSite : header.kind];
  return std::exchange(last, header.id) < header.id;
}

void SegmentSource::note_numbers(const std::string& records, bool again) {
  lanes::DefinitionHeader header{};
  for (std::size_t at = 0; at < records.size(); at += header.size) {  // whole records; the reader has checked them
    std::memcpy(&header, records.data() + at, sizeof header);
    lost_definitions_ |= !again && !is_in_order(header);
    using enum lanes::DefinitionKind;
    const bool is_other = lanes::is_counted_beside_sites(header.kind);
    if ((!is_other && header.kind != kSite) || header.id > lanes::kMaxSegmentBytes / sizeof(lanes::Counter)) continue;
    if (header.id >= kinds_.size()) kinds_.resize(header.id + 1);
    kinds_[header.id] = is_other ? Numbered::kOther : Numbered::kSite;
    has_uses_ |= header.kind == kOperatorUse;
  }
}

// A process defines a number before it counts under it. Where the definition was damaged, what kind of thing is counted
// can only be told from which words of the counter are not used (agent/lanes/format.h).
void SegmentSource::leave_out_others(v1::Counters* counters) {
  const auto may_be_site = [&](const v1::Counters& c, int i) {
    if (c.pass_throughs(i) + c.traced(i) + c.kept(i) > 0 || c.casts(i) == 0) return true;
    return c.cpu_ns(i) > 0 && (c.cache_hits(i) > 0 || !has_uses_);
  };
  const auto has_definition = [this](std::uint32_t number) { return number == 0 || is_defined(number); };
  if (std::ranges::all_of(counters->site(), has_definition)) return;
  lost_definitions_ = true;
  v1::Counters kept;
  for (int i = 0; i < counters->lane_size(); ++i) {
    if (!has_definition(counters->site(i)) && !may_be_site(*counters, i)) continue;
    kept.add_lane(counters->lane(i));
    kept.add_site(counters->site(i));
    kept.add_casts(counters->casts(i));
    kept.add_cache_hits(counters->cache_hits(i));
    kept.add_pass_throughs(counters->pass_throughs(i));
    kept.add_traced(counters->traced(i));
    kept.add_bytes(counters->bytes(i));
    kept.add_cpu_ns(counters->cpu_ns(i));
    kept.add_kept(counters->kept(i));
  }
  *counters = std::move(kept);
}

void SegmentSource::add_up() {
  const lanes::ProcessState& state = told_state_;
  totals_ = {.casts = state.lost.casts + state.lost_other.casts, .hits = state.lost.hits, .dropped = state.lost_events};
  for (const Lane& lane : lanes_) {
    totals_.dropped += lane.state.dropped;
    for (const auto& [site, values] : lane.told) {
      if (site < kinds_.size() && kinds_[site] == Numbered::kOther) continue;
      totals_.casts += values.casts;
      totals_.hits += values.hits;
    }
  }
}

// Events that cannot be are left out, each by itself: the collector would refuse their whole block. It sees their
// numbers missing.
std::size_t SegmentSource::pack(std::size_t index, Made& into) {
  Lane& lane = lanes_[index];
  const std::span<const lanes::Event> waiting(lane.waiting);
  std::size_t bytes = 0;
  for (std::size_t begin = 0, end = 0; begin < waiting.size(); begin = end) {
    while (end < waiting.size() && wire::is_possible(waiting[end])) ++end;
    if (end == begin) {
      ++impossible_events_, ++end;
      continue;
    }
    v1::Events& block = *into.message->mutable_batch()->add_event_blocks();
    block.set_lane(reader_->lane_state(index).id);
    block.set_first_event(lane.first + begin);
    block.set_event_count(static_cast<std::uint32_t>(end - begin));
    block.set_packed_events(wire::pack(waiting.subspan(begin, end - begin)));
    bytes += std::max(block.packed_events().size(), kLeastBytesOfEvent * (end - begin));
    into.receipts.push_back(
        {.source = id_, .lane = index, .end = lane.first + end, .events = end - begin, .last = false});
  }
  lane.waiting.clear();
  return bytes;
}

std::vector<SegmentSource::Made> SegmentSource::make_batches(End tell, Clock::time_point now) {
  std::vector<Made> made;
  auto add = [&] { return made.push_back({new_message(), {}}), made.back().message->mutable_batch(); };
  // Counters are read before definitions, so that the definitions cover them; they are sent after them.
  v1::Batch news;
  std::vector<v1::Counters> counters;
  if (silenced_.empty()) {
    while (collect_counters(&counters.emplace_back())) continue;
    collect_states(&news);
  }
  v1::Batch* batch = add();
  if (!std::exchange(introduced_, true)) add_begin(batch);
  while (take_definitions(false, batch->mutable_definitions())) batch = add();
  for (v1::Counters& part : counters) leave_out_others(&part);
  add_up();
  std::size_t bytes = batch->definitions().size();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    if (lane.waiting.empty() || (tell == End::kNone && !due(lane, now))) continue;
    if (bytes > kBlockBytesPerBatch) batch = add(), bytes = 0;
    bytes += pack(i, made.back());
  }
  for (v1::Counters& part : counters) {
    if (batch->has_counters()) batch = add();
    if (part.lane_size() > 0) *batch->mutable_counters() = std::move(part);
  }
  if (news.has_counters() && batch->has_counters()) batch = add();  // each may have as many as a message may hold
  batch->MergeFrom(news);
  if (tell != End::kNone) {
    batch->mutable_process_end()->set_end_kind(wire_end(end_));
    batch->mutable_process_end()->set_exit_status(exit_status());
    made.back().receipts.push_back({.source = id_, .lane = 0, .end = 0, .events = 0, .last = tell == End::kSeen});
  }
  if (batch->ByteSizeLong() == new_message()->batch().ByteSizeLong()) made.pop_back();  // it contains only a name
  return made;
}

void SegmentSource::forget_what_was_told() {
  for (Lane& lane : lanes_) {
    lane.told.clear();
    lane.state_told = false;
  }
  told_state_ = {};
  state_told_ = false;
}

std::vector<Outbox::Message> SegmentSource::introduction() {
  std::vector<std::unique_ptr<v1::RelayMessage>> messages;
  // Numbers are read before definitions, so that the definitions cover them, and sent after them.
  v1::Batch states;
  std::vector<v1::Counters> counters;
  forget_what_was_told();
  if (silenced_.empty()) {
    while (collect_counters(&counters.emplace_back())) continue;
    collect_states(&states);
  }
  // Older batches, with less in them, are sent again after the introduction: the next batch must have the last word.
  forget_what_was_told();
  const lanes::SegmentReader::DefinitionPosition position = reader_->definition_position();
  reader_->seek_definitions({});
  for (bool more = true; more;) {
    auto message = new_message();
    if (messages.empty()) add_begin(message->mutable_batch());
    more = take_definitions(true, message->mutable_batch()->mutable_definitions());
    messages.push_back(std::move(message));
  }
  reader_->seek_definitions(position);  // new definitions are sent again in a batch of their own, which is acknowledged
  for (v1::Counters& part : counters) {
    leave_out_others(&part);
    auto message = new_message();
    *message->mutable_batch()->mutable_counters() = std::move(part);
    messages.push_back(std::move(message));
  }
  auto message = new_message();
  message->mutable_batch()->MergeFrom(states);
  messages.push_back(std::move(message));
  for (const auto& one : messages) one->mutable_batch()->set_checksum(wire::checksum_of(one->batch()));
  return {std::make_move_iterator(messages.begin()), std::make_move_iterator(messages.end())};
}

void SegmentSource::acknowledged(const Receipt& receipt) {
  events_acknowledged_ += receipt.events;
  if (receipt.events > 0) reader_->release(receipt.lane, receipt.end);
}

void SegmentSource::silence(const std::string& problem) {
  if (silenced_.empty()) silenced_ = problem;
  for (Lane& lane : lanes_) lane.waiting.clear();
}

std::string SegmentSource::damage() const {
  if (!reader_->error().empty()) return reader_->error();
  if (!reader_->damage().empty()) return reader_->damage();
  const std::string damaged = "segment " + reader_->path() + " is damaged: ";
  if (lost_definitions_) return damaged + "some of its definitions are missing";
  if (impossible_events_ == 0) return "";
  return damaged + std::to_string(impossible_events_) +
         (impossible_events_ == 1 ? " event in it cannot be, and is missing"
                                  : " events in it cannot be, and are missing");
}

int SegmentSource::exit_status() const {
  const int given = reader_->exit_status();
  return given < 0 ? known_exit_status_ : given;
}

ProcessSummary SegmentSource::summary() {
  ProcessSummary summary{.key = key_,
                         .pid = reader_->pid(),
                         .end = end_,
                         .exit_status = exit_status(),
                         .acknowledged = events_acknowledged_,
                         .problem = problem()};
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const lanes::LaneState state = reader_->lane_state(i);
    summary.written += state.written;
    summary.dropped += state.dropped;
  }
  summary.dropped += reader_->process_state().lost_events;
  return summary;
}

}  // namespace castscope::relay
