#include "faults.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <sstream>
#include <string>

#include "nogpu.h"

namespace nogpu {
namespace {

constexpr auto kCount = static_cast<size_t>(Fault::kCount);
constexpr std::array<const char*, kCount> kNames = {"lose", "reorder", "hold", "no-seat", "no-buffer"};

struct Faults {
  std::array<std::atomic<uint64_t>, kCount> values{};

  // "lose=7,hold": a fault without a number is switched on.
  Faults() {
    const char* asked = std::getenv("CASTSCOPE_NOGPU_FAULTS");
    std::istringstream list(asked == nullptr ? "" : asked);
    for (std::string entry; std::getline(list, entry, ',');) {
      const size_t sign = entry.find('=');
      const uint64_t value = sign == std::string::npos ? 1 : std::strtoull(entry.c_str() + sign + 1, nullptr, 10);
      set(entry.substr(0, sign), value);
    }
  }

  bool set(const std::string& name, uint64_t value) {
    for (size_t i = 0; i < kCount; ++i) {
      if (name != kNames[i]) continue;
      values[i].store(value);
      return true;
    }
    return false;
  }
};

Faults& faults() {
  static Faults* all = new Faults;
  return *all;
}

}  // namespace

uint64_t fault(Fault which) { return faults().values[static_cast<size_t>(which)].load(std::memory_order_relaxed); }

}  // namespace nogpu

extern "C" int nogpu_fault(const char* name, uint64_t value) {
  return name != nullptr && nogpu::faults().set(name, value) ? 0 : -1;
}
