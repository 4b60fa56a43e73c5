// Tasks of the hot path beyond counting, which are wanted now and then. They share one word, so that the hot path asks
// one question.
#pragma once

#include <atomic>
#include <cstdint>

namespace castscope::agent {

enum Attention : std::uint8_t {
  kLearning = 1,  // operators are recorded: call sites learn which argument they serve
  kLooking = 2,   // every operator is looked at (operators/deep.h)
  kTiming = 4,    // GPU launches are timed (gpu/gpu.h)
};
extern std::atomic<std::uint8_t> g_attention;

inline std::uint8_t attention() { return g_attention.load(std::memory_order_relaxed); }
// Whether every operator is looked at, in all threads.
inline bool deep() { return (attention() & kLooking) != 0; }
// Whether launches on a GPU are timed from here on: the present step is a deep one.
inline bool timing() { return (attention() & kTiming) != 0; }
// Returns whether it was asked for before.
inline bool ask_for(Attention what, bool on) {
  const auto before = on ? g_attention.fetch_or(what) : g_attention.fetch_and(static_cast<std::uint8_t>(~what));
  return (before & what) != 0;
}

}  // namespace castscope::agent
