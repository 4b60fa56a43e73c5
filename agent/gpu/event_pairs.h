// Pairs of CUDA events, each of which times one launch: a fixed number, made at need, kept for as long as the process
// lives and used again. Events belong to a device.
//
// Threads: the thread that launches takes a pair, records its two events and says so; one reader at a time fetches the
// recorded pairs and gives them back. No locks; nothing is allocated.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/gpu/cudart_abi.h"

namespace castscope::gpu {

struct EventPair {
  cudart::Event begin = nullptr, end = nullptr;
  cudart::Stream stream = nullptr;
  std::uint64_t ticket = 0;
  int device = 0;
  // next of the list that the pair is in: free, or published
  std::atomic<std::uint32_t> next{0};
};

class EventPairs {
 public:
  // A job that launches 4,096 casts before the device is done with the first is far ahead of the device.
  static constexpr std::uint32_t kMost = 4'096;
  static constexpr int kMostDevices = 64;

  // nullptr: no pair is free. A pair without events is new: the caller makes them. Where they cannot be made, its place
  // stays unused.
  EventPair* take(int device);
  void give_back(EventPair* pair) { push(free_[static_cast<std::size_t>(pair->device)], index_of(pair)); }
  // Hands the pair to the reader: both events are recorded.
  void publish(EventPair* pair);

  // Calls f(pair) for each pair that was published since, the first one first.
  template <typename F>
  void fetch(F f) {
    std::uint32_t first = 0;
    for (std::uint32_t i = published_.exchange(0, std::memory_order_acquire); i != 0;) {
      const std::uint32_t next = pairs_[i].next.exchange(first, std::memory_order_relaxed);
      first = i;
      i = next;
    }
    while (first != 0) {
      EventPair& pair = pairs_[first];
      first = pair.next.load(std::memory_order_relaxed);
      f(&pair);
    }
  }

 private:
  // Stacks of indices; the upper half of the word counts changes, so that no change goes unseen.
  using Stack = std::atomic<std::uint64_t>;
  void push(Stack& stack, std::uint32_t index);
  std::uint32_t index_of(const EventPair* pair) const { return static_cast<std::uint32_t>(pair - pairs_.data()); }

  std::array<EventPair, kMost + 1> pairs_;  // index 0 is not used
  std::atomic<std::uint32_t> made_{0};
  std::array<Stack, kMostDevices> free_{};
  std::atomic<std::uint32_t> published_{0};
};

}  // namespace castscope::gpu
