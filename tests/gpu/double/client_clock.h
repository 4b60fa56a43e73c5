// The client's clock: its own timestamp function, or that of the devices if it has none.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace nogpu {

class ClientClock {
 public:
  // Reads both clocks twice, two milliseconds apart, to know their ratio.
  void set(CUpti_TimestampCallbackFunc function);
  // Reads both clocks again. Conversions are extrapolated from this reading: the ratio gets better with distance.
  void look();
  uint64_t convert(uint64_t device_time) const;
  uint64_t time() const;

 private:
  struct Pair {
    uint64_t device, client;
  };
  Pair pair() const;

  CUpti_TimestampCallbackFunc function_ = nullptr;
  Pair first_{}, last_{};
};

}  // namespace nogpu
