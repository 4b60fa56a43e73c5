// Native call sites that a thread has met, by return address.
#pragma once

#include <array>
#include <cstdint>

namespace castscope::enforce {
class OperatorPlan;
}

namespace castscope::agent {

// Tells where the caller's own return address stands, for helpers that several operators share.
struct ReturnAddressEntry {
  std::uint64_t address = 0;
  std::int64_t outer_offset = 0;                // from the hook's CFA; 0 = the address alone names the call site
  const enforce::OperatorPlan* plan = nullptr;  // set where an enforced policy wants other casts from here
};

// The rows of one thread: each address has one possible row.
using ReturnAddresses = std::array<ReturnAddressEntry, 256>;
inline ReturnAddressEntry& entry_of(ReturnAddresses& addresses, std::uint64_t address) {
  return addresses[(address * 0x9e3779b97f4a7c15u) >> 56];
}

}  // namespace castscope::agent
