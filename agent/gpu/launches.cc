#include "agent/gpu/launches.h"

#include <limits>

namespace castscope::gpu {
namespace {

constexpr std::uint64_t kOpen = std::numeric_limits<std::uint64_t>::max();
// How many past stretches are kept: work of an older one belongs to nobody.
constexpr std::size_t kMostStretches = 256;

std::uint32_t product(const std::int32_t (&sizes)[3]) {
  std::uint64_t n = 1;
  for (const std::int32_t size : sizes) n *= size > 0 ? static_cast<std::uint64_t>(size) : 1;
  return n > 0xffffffff ? 0xffffffff : static_cast<std::uint32_t>(n);
}

DeviceWork work_of(const cupti::KernelRecord& r) {
  return {.correlation = r.correlation_id,
          .device = r.device,
          .stream = r.stream,
          .kind = cupti::kConcurrentKernel,
          .direction = 0,
          .blocks = product(r.grid),
          .threads = product(r.block),
          .start = r.start,
          .end = r.end,
          .bytes = 0,
          .graph_node = r.graph_node,
          .name = r.name,
          .uncalled = 0};
}

template <typename Moved>
DeviceWork work_of(const Moved& r, cupti::ActivityKind kind, std::uint8_t direction = 0) {
  return {.correlation = r.correlation_id,
          .device = r.device,
          .stream = r.stream,
          .kind = static_cast<std::uint8_t>(kind),
          .direction = direction,
          .blocks = 0,
          .threads = 0,
          .start = r.start,
          .end = r.end,
          .bytes = r.bytes,
          .graph_node = r.graph_node,
          .name = nullptr,
          .uncalled = 0};
}

// Where CUPTI runs out of memory on the device, a kernel may end before it begins
// (https://github.com/parca-dev/parcagpu/pull/23). After the job has set CUPTI's clock again, the first kernels may
// have the times of another clock (https://github.com/pytorch/pytorch/issues/192021). 10^13 is hours in any clock, and
// clocks begin further apart.
bool has_times(const DeviceWork& work, std::uint64_t called) {
  constexpr std::uint64_t kClocksAgree = 1'000'000, kMost = 10'000'000'000'000;
  return work.end >= work.start && work.end - work.start < kMost && work.start + kClocksAgree >= called &&
         (work.start <= called || work.start - called < kMost);
}

template <typename T>
const T& as(const cupti::Record& record) {
  return reinterpret_cast<const T&>(record);
}

}  // namespace

void Launches::begin(memory::OwnVector<Stretch>& stretches, std::uint64_t at) {
  if (stretches.size() == kMostStretches) stretches.erase(stretches.begin());
  stretches.push_back({at, kOpen});
}

void Launches::end(memory::OwnVector<Stretch>& stretches, std::uint64_t at) {
  if (!stretches.empty() && stretches.back().end == kOpen) stretches.back().end = at;
}

bool Launches::is_in(const memory::OwnVector<Stretch>& stretches, std::uint64_t at) {
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch)
    if (at >= stretch->begin) return at <= stretch->end;
  return false;
}

// Several threads may capture at once, or one within another: whichever of them ends, the captures last until all have
// ended.
void Launches::capture_ends(std::uint64_t at) {
  for (Stretch& capture : captures_) {
    if (capture.end != kOpen) continue;
    capture.end = at;
    return;
  }
}

bool Launches::is_captured(std::uint64_t at) const {
  for (const Stretch& capture : captures_)
    if (at >= capture.begin && at <= capture.end) return true;
  return false;
}

void Launches::add(const cupti::Record& record) {
  switch (record.kind) {
    case cupti::kRuntime:
    case cupti::kDriver:
      return add_call(as<cupti::ApiRecord>(record));
    case cupti::kExternalCorrelation: {
      const auto& r = as<cupti::ExternalCorrelationRecord>(record);
      if (r.external_kind == cupti::kKindOurs) calls_[r.correlation_id].ticket = r.external_id, any_ticket_ = true;
      return;
    }
    case cupti::kConcurrentKernel:
    case 3:  // CUPTI_ACTIVITY_KIND_KERNEL: one that ran alone
      return add_work(work_of(as<cupti::KernelRecord>(record)));
    case cupti::kMemcpy:
      return add_work(
          work_of(as<cupti::MemcpyRecord>(record), cupti::kMemcpy, as<cupti::MemcpyRecord>(record).direction));
    case cupti::kPeerMemcpy:
      return add_work(
          work_of(as<cupti::PeerMemcpyRecord>(record), cupti::kMemcpy, as<cupti::PeerMemcpyRecord>(record).direction));
    case cupti::kMemset:
      return add_work(work_of(as<cupti::MemsetRecord>(record), cupti::kMemset));
    default:
      return;
  }
}

// The runtime's functions call the driver's. Both come with the id of the outer one, whose time is the earlier.
void Launches::add_call(const cupti::ApiRecord& record) {
  if (record.kind == cupti::kRuntime && cupti::begins_capture(record.callback_id)) {
    if (record.result == 0) begin(captures_, record.start);
    return;
  }
  if (record.kind == cupti::kRuntime && cupti::ends_capture(record.callback_id)) return capture_ends(record.end);
  Call& call = calls_[record.correlation_id];
  if (record.result != 0) call.failed = true;
  if (call.called == 0 || record.start < call.called) call.called = record.start;
  call.age = 0;
  // Only functions that launch work are awaited.
  const bool launches = cupti::launches_work(record.kind, record.callback_id);
  if (call.failed && call.counted) {
    call.counted = false;
    --outstanding_;
  }
  if (launches && call.works == 0 && !call.counted && !call.failed && is_in(stretches_, call.called)) {
    call.counted = true;
    ++outstanding_;
  }
}

void Launches::add_work(const DeviceWork& work) {
  if (work.end == 0) return;  // handed out before the device was done with it: the complete record never comes
  Call& call = calls_[work.correlation];
  ++call.works;
  call.age = 0;
  if (call.counted) {
    call.counted = false;
    --outstanding_;
  }
  waiting_.push_back(work);
}

void Launches::settle(Sink& sink) {
  std::size_t left = 0;
  for (DeviceWork& work : waiting_) {
    const auto call = calls_.find(work.correlation);
    const bool known = call != calls_.end() && call->second.called != 0;
    if (!known && ++work.uncalled >= kRoundsKept) {
      orphans_ += is_in(stretches_, work.start);
      continue;
    }
    if (known && !is_in(stretches_, call->second.called)) continue;  // launched between stretches
    if (known && !has_times(work, call->second.called)) {
      ++without_times_;
      continue;
    }
    if (known && sink.place(work, call->second.ticket, call->second.called, false)) continue;
    waiting_[left++] = work;
  }
  waiting_.resize(left);
  forget_old();
}

void Launches::forget_old() {
  for (auto at = calls_.begin(); at != calls_.end();) {
    Call& call = at->second;
    if (call.counted && !is_in(stretches_, call.called)) {  // the stretch had ended, which was only said later
      call.counted = false;
      --outstanding_;
    }
    if (++call.age < (call.counted ? kRoundsAwaited : kRoundsKept)) {
      ++at;
      continue;
    }
    give_up(call);
    at = calls_.erase(at);
  }
}

void Launches::finish(Sink& sink) {
  for (const DeviceWork& work : waiting_) {
    const auto call = calls_.find(work.correlation);
    if (call == calls_.end() || call->second.called == 0) {
      // Otherwise the work may come from a launch after the seat was left, by a function that was switched off before
      // it returned.
      orphans_ += is_in(stretches_, work.start);
    } else if (is_in(stretches_, call->second.called)) {
      if (has_times(work, call->second.called))
        sink.place(work, call->second.ticket, call->second.called, true);
      else
        ++without_times_;
    }
  }
  waiting_.clear();
  for (auto& [id, call] : calls_) give_up(call);
  calls_.clear();
}

void Launches::give_up(Call& call) {
  if (!call.counted) return;
  call.counted = false;
  --outstanding_;
  if (!is_captured(call.called)) ++never_came_;
}

}  // namespace castscope::gpu
