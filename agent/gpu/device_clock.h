// Converts from the clock of CUPTI's records to the segment's, and to ns. CUPTI's clock is CLOCK_REALTIME in ns, unless
// the job has registered another one: torch.profiler registers the processor's counter, which does not count ns.
//
// A clock is a straight line through two readings, the second of which follows the present: since a stretch of timing
// is short, that is good to a few hundred ns.
#pragma once

#include <cmath>
#include <cstdint>

namespace castscope::gpu {

// Both clocks and monotonic ns, read as nearly at once as can be.
struct ClockReading {
  std::uint64_t records = 0, segment = 0, monotonic_ns = 0;
};

class DeviceClock {
 public:
  void begin(const ClockReading& reading) { first_ = last_ = reading; }
  void follow(const ClockReading& reading) {
    if (reading.records > first_.records + kLeastApart) last_ = reading;
  }
  std::uint64_t to_segment(std::uint64_t records) const {
    const double since = difference(records, first_.records) * rate(first_.segment, last_.segment);
    return first_.segment + static_cast<std::int64_t>(std::llround(since));
  }
  // A stretch of time in the segment's clock.
  std::uint64_t ticks(std::uint64_t duration) const {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(duration) * rate(first_.segment, last_.segment)));
  }
  // A stretch of time in ns: exactly what the record says, where its clock counts ns.
  std::uint64_t ns(std::uint64_t duration) const {
    const double per_unit = rate(first_.monotonic_ns, last_.monotonic_ns);
    if (std::abs(per_unit - 1) < kAsNs) return duration;
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(duration) * per_unit));
  }
  bool is_known() const { return last_.records != first_.records; }

 private:
  static constexpr std::uint64_t kLeastApart = 20'000;  // units: with fewer the line would point anywhere
  static constexpr double kAsNs = 0.02;                 // two readings apart by 20 µs are good to a percent
  static double difference(std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(static_cast<std::int64_t>(a - b));
  }
  double rate(std::uint64_t from, std::uint64_t to) const {
    if (!is_known()) return 1;
    return difference(to, from) / difference(last_.records, first_.records);
  }
  ClockReading first_, last_;
};

}  // namespace castscope::gpu
