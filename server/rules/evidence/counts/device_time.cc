#include "server/rules/evidence/counts/device_time.h"

#include <sstream>

namespace castscope::rules {
namespace {

// torch.jit.trace ran the kernel, to record code or to check the trace: that is not part of a step's work.
bool is_rehearsed(const store::RunData& data, const store::Kernel& kernel) {
  return (kernel.site != 0 && (data.sites[kernel.site].flags & lanes::kSiteTracing) != 0) ||
         (kernel.use != 0 && data.operator_uses[kernel.use].is(lanes::kUseTracing));
}

}  // namespace

DeviceWork& DeviceWork::operator+=(const DeviceWork& other) {
  launches += other.launches;
  bytes += other.bytes;
  ns += other.ns;
  return *this;
}

DeviceTime device_time(const store::RunData& data) {
  DeviceTime time;
  for (const store::Process& process : data.processes) {
    time.steps += process.gauges.gpu_steps;
    time.records += process.gauges.gpu_records;
    time.lost += process.gauges.gpu_lost;
    time.unplaced += process.gauges.gpu_unplaced;
    time.by_events.steps += process.gauges.gpu_event_steps;
    time.by_events.untimed += process.gauges.gpu_casts_untimed;
  }
  time.kernels.resize(data.kernels.size());
  time.sites.resize(data.sites.size());
  time.by_events.sites.resize(data.sites.size());
  time.uses.resize(data.operator_uses.size());
  time.use_casts.resize(data.operator_uses.size());
  for (const store::KernelCount& count : data.kernel_counts) {
    const store::Kernel& kernel = data.kernels[count.kernel];
    if (is_rehearsed(data, kernel)) continue;
    const DeviceWork work{.launches = count.launches, .bytes = count.bytes, .ns = count.ns};
    if (kernel.work == lanes::GpuWork::kCastByEvents) {
      time.by_events.casts += work;
      if (kernel.site != 0) time.by_events.sites[kernel.site] += work;
      continue;
    }
    time.all += work;
    time.kernels[kernel.id] += work;
    if (kernel.use != 0) time.uses[kernel.use] += work;
    if (kernel.site == 0) continue;
    time.casts += work;
    time.sites[kernel.site] += work;
    if (kernel.use != 0) time.use_casts[kernel.use] += work;
  }
  return time;
}

store::Table<std::uint64_t, store::Matmul> times_of_matmuls(const store::RunData& data) {
  store::Table<std::uint64_t, store::Matmul> times(data.matmuls.size());
  for (const store::MatmulCount& count : data.matmul_counts) times[count.matmul] += count.times;
  return times;
}

std::string math_setting(const std::string& settings, const std::string& name) {
  std::istringstream words(settings);
  for (std::string word; words >> word;)
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  return "";
}

}  // namespace castscope::rules
