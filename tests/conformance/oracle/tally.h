// The file in which the oracle counts: one per process, mapped shared, so that it is correct after kill -9 too.
// tests/conformance/oracle.py reads it. It contains plain numbers in native order; the tests run where they are
// written.
#pragma once

#include <atomic>
#include <cstdint>

namespace oracle {

inline constexpr char kMagic[8] = {'O', 'R', 'A', 'C', 'L', 'E', '0', '1'};
inline constexpr int kDtypes = 64;       // more than c10::ScalarType has
inline constexpr int kTrace = 64 << 10;  // outcomes kept in order, one letter each

using Count = std::atomic<std::uint64_t>;

struct PairTally {  // by source dtype and dtype of what was returned
  Count casts, hits, bytes;
};

struct Tally {
  char magic[8];
  std::uint64_t pid;
  Count casts, hits, passes, traced, bytes, clears;
  Count functional;  // arguments behind C++ functionalization alone, counted in one of the above as well
  Count trace_length;
  char trace[kTrace];  // c, h, p, t: in the order in which calls returned
  PairTally pairs[kDtypes][kDtypes];
};

}  // namespace oracle
