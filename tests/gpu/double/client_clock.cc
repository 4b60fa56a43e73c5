#include "client_clock.h"

#include <cmath>

#include "device.h"

namespace nogpu {
namespace {

constexpr uint64_t kFirstDistance = 2'000'000;
constexpr uint64_t kLookAgain = 10'000'000;

}  // namespace

void ClientClock::set(CUpti_TimestampCallbackFunc function) {
  function_ = function;
  first_ = pair();
  do {
    last_ = pair();
  } while (last_.device - first_.device < kFirstDistance);
}

void ClientClock::look() {
  if (function_ == nullptr || now() - last_.device < kLookAgain) return;
  last_ = pair();
}

uint64_t ClientClock::convert(uint64_t device_time) const {
  if (function_ == nullptr) return device_time;
  const auto ratio =
      static_cast<long double>(last_.client - first_.client) / static_cast<long double>(last_.device - first_.device);
  const auto since = static_cast<long double>(static_cast<int64_t>(device_time - first_.device));
  return first_.client + static_cast<uint64_t>(std::llround(since * ratio));
}

uint64_t ClientClock::time() const { return function_ == nullptr ? now() : function_(); }

// Of several readings, returns the one that was disturbed least.
ClientClock::Pair ClientClock::pair() const {
  Pair best{};
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 20; ++i) {
    const uint64_t before = now();
    const uint64_t client = function_();
    const uint64_t after = now();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, client};
  }
  return best;
}

}  // namespace nogpu
