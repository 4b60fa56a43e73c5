#include "agent/gpu/kernel_counts.h"

#include "agent/lanes/event_views.h"

namespace castscope::gpu {
namespace {

// The tables are emptied at these sizes, for a job that makes new kernels for ever (a compiler at work).
constexpr std::size_t kMostNames = 50'000, kMostCounts = 200'000;
constexpr std::size_t kMostSteps = 4'096;

// CUpti_ActivityMemcpyKind.
std::string_view copy_name(std::uint8_t direction) {
  switch (direction) {
    case 1:
      return "Memcpy HtoD";
    case 2:
      return "Memcpy DtoH";
    case 8:
      return "Memcpy DtoD";
    case 9:
      return "Memcpy HtoH";
    case 10:
      return "Memcpy PtoP";
    default:
      return "Memcpy";
  }
}

lanes::GpuWork kind_of(const DeviceWork& work) {
  if (work.kind == cupti::kMemcpy) return lanes::GpuWork::kCopy;
  return work.kind == cupti::kMemset ? lanes::GpuWork::kSet : lanes::GpuWork::kKernel;
}

}  // namespace

std::size_t KernelCounts::KeyHash::operator()(const Key& key) const {
  std::uint64_t h = 0;
  for (const std::uint64_t part :
       {std::uint64_t{key.purpose.site} << 32 | key.purpose.use, std::uint64_t{key.purpose.op} << 32 | key.name,
        std::uint64_t{key.purpose.origin} << 32 | std::uint64_t{key.device} << 16 |
            static_cast<std::uint64_t>(key.work) << 8 | key.flags})
    h = (h ^ part) * 0x9e3779b97f4a7c15u ^ h >> 29;
  return h;
}

void KernelCounts::tell_thread(std::uint32_t thread) {
  lanes::Event* e = lane_.begin_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->kind = lanes::EventKind::kThread;
  e->time = lane_.now();
  e->site = thread;
  lane_.publish();
}

void KernelCounts::step_begins(std::uint64_t at, std::uint32_t step) {
  if (steps_.size() == kMostSteps) steps_.erase(steps_.begin(), steps_.begin() + kMostSteps / 2);
  steps_.push_back({at, step});
}

std::uint32_t KernelCounts::step_at(std::uint64_t called) const {
  for (auto begin = steps_.rbegin(); begin != steps_.rend(); ++begin)
    if (called >= begin->at) return begin->step;
  return steps_.empty() ? 0 : steps_.front().step;
}

bool KernelCounts::place(const DeviceWork& work, std::uint64_t ticket, std::uint64_t called, bool last_chance) {
  Key key;
  bool placed = true;
  if (work.graph_node != 0 && graph_nodes_.find(work.graph_node, &key.purpose)) {
    key.flags |= lanes::kKernelReplayed;
  } else if (work.graph_node != 0 && ticket == 0) {
    key.flags |= lanes::kKernelReplayed;  // captured before nodes were watched
  } else if (ticket != 0) {
    const WorkBook::Found found = book_.find(ticket, &key.purpose);
    if (found == WorkBook::Found::kOpen && !last_chance) return false;
    placed = found == WorkBook::Found::kSettled;
  }
  if (!placed) key.flags |= lanes::kKernelUnplaced;
  lanes::SegmentHeader& header = segment_.header();
  header.gpu_records.fetch_add(1, std::memory_order_relaxed);
  if (!placed) header.gpu_unplaced.fetch_add(1, std::memory_order_relaxed);
  key.name = name_of(work);
  key.device = static_cast<std::uint16_t>(work.device);
  key.work = kind_of(work);
  const Counted& c = counted(key);
  if (c.counter == nullptr) return true;
  lanes::LaneWriter::add(c.counter->casts, 1);
  lanes::LaneWriter::add(c.counter->bytes, work.bytes);
  lanes::LaneWriter::add(c.counter->hits, clock_.ns(work.end - work.start));
  write_event(work, c.id, called);
  return true;
}

// Only counts the cast: events do not tell when it ran.
KernelCounts::Placed KernelCounts::place_cast(std::uint64_t ticket, int device, std::uint64_t ns, bool last_chance) {
  Key key;
  const WorkBook::Found found = book_.find(ticket, &key.purpose);
  if (found == WorkBook::Found::kOpen && !last_chance) return Placed::kNotYet;
  if (key.purpose.site == 0) return Placed::kUnknown;
  if (found != WorkBook::Found::kSettled) key.flags |= lanes::kKernelUnplaced;
  key.device = static_cast<std::uint16_t>(device);
  key.work = lanes::GpuWork::kCastByEvents;
  const Counted& c = counted(key);
  if (c.counter == nullptr) return Placed::kUnknown;
  lanes::LaneWriter::add(c.counter->casts, 1);
  lanes::LaneWriter::add(c.counter->hits, ns);
  return Placed::kCounted;
}

std::uint32_t KernelCounts::name_of(const DeviceWork& work) {
  const std::string_view name = work.kind == cupti::kMemcpy   ? copy_name(work.direction)
                                : work.kind == cupti::kMemset ? "Memset"
                                : work.name == nullptr        ? ""
                                                              : work.name;
  const auto known = names_.find(name);
  if (known != names_.end()) return known->second;
  if (names_.size() >= kMostNames) names_.clear();
  return names_.emplace(name, definitions_.string(name)).first->second;
}

const KernelCounts::Counted& KernelCounts::counted(const Key& key) {
  const auto known = counts_.find(key);
  if (known != counts_.end()) return known->second;
  if (counts_.size() >= kMostCounts) counts_.clear();
  lanes::KernelDefinition d{};
  d.site = key.purpose.site;
  d.use = key.purpose.use;
  d.op = key.purpose.op;
  d.origin = key.purpose.origin;
  d.name = key.name;
  d.device = key.device;
  d.work = key.work;
  d.flags = key.flags;
  Counted c;
  c.id = definitions_.seen(d);
  if (c.id != 0) c.counter = segment_.new_counter(&lane_.lane(), c.id);
  return counts_.emplace(key, c).first->second;
}

void KernelCounts::write_event(const DeviceWork& work, std::uint32_t id, std::uint64_t called) {
  lanes::Event* e = lane_.begin_picture_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->site = id;
  e->time = clock_.to_segment(work.start);
  e->duration = lanes::LaneWriter::saturate(clock_.ticks(work.end - work.start));
  e->step = step_at(called);
  const std::uint64_t waited = work.start > called ? clock_.ticks(work.start - called) : 0;
  put(*e, lanes::KernelEvent{.device = work.device,
                             .stream = work.stream,
                             .blocks = work.blocks,
                             .threads = work.threads,
                             .bytes = work.bytes,
                             .correlation = work.correlation,
                             .waited = lanes::LaneWriter::saturate(waited)});
  lane_.publish();
}

}  // namespace castscope::gpu
