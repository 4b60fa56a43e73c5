// The work of GPUs in the steps whose kernels were timed, of all processes together.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

struct DeviceWork {
  std::uint64_t launches = 0, bytes = 0, ns = 0;  // ns: on the device
  DeviceWork& operator+=(const DeviceWork&);
};

// Casts of steps for which CUPTI was not available: CUDA events timed their launches, and nothing else. A cast took at
// most that time, and its share of the step is not known.
struct EventTime {
  std::uint64_t steps = 0;
  std::uint64_t untimed = 0;  // launches of casts, in those steps
  DeviceWork casts;
  store::Table<DeviceWork, store::Site> sites;
};

struct DeviceTime {
  std::uint64_t steps = 0;    // timed
  std::uint64_t records = 0;  // kernels, copies and sets whose records arrived
  std::uint64_t lost = 0;     // those whose records never arrived
  std::uint64_t unplaced = 0;
  DeviceWork all, casts;  // casts: kernels that have a site
  store::Table<DeviceWork, store::Kernel> kernels;
  store::Table<DeviceWork, store::Site> sites;             // for casts
  store::Table<DeviceWork, store::OperatorUse> uses;       // with the casts within them
  store::Table<DeviceWork, store::OperatorUse> use_casts;  // for the casts within operators
  EventTime by_events;                                     // its casts are in none of the others

  bool timed() const { return all.launches > 0; }
  double cast_share() const { return share_of_all(casts.ns); }
  double share_of_all(std::uint64_t ns) const {
    return all.ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(all.ns);
  }
  // Returns an operator's time without the casts within it.
  std::uint64_t own_ns(store::OperatorUseId use) const { return use == 0 ? 0 : uses[use].ns - use_casts[use].ns; }
};
DeviceTime device_time(const store::RunData&);

// Returns how often each matrix product was called, in all processes.
store::Table<std::uint64_t, store::Matmul> times_of_matmuls(const store::RunData&);

// Returns the value of `name` in settings as the attribute "gpu_math" holds them ("allow_tf32=0 cudnn_allow_tf32=1");
// "" = not recorded.
std::string math_setting(const std::string& settings, const std::string& name);

// Rounds as reports do.
inline std::int64_t whole_percent(double share) { return std::llround(100 * share); }

}  // namespace castscope::rules
