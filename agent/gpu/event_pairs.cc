#include "agent/gpu/event_pairs.h"

namespace castscope::gpu {
namespace {

constexpr std::uint64_t kIndex = 0xffff'ffff;
constexpr std::uint64_t kOneChange = kIndex + 1;

std::uint64_t changed(std::uint64_t stack, std::uint32_t index) { return ((stack & ~kIndex) + kOneChange) | index; }

}  // namespace

EventPair* EventPairs::take(int device) {
  if (device < 0 || device >= kMostDevices) return nullptr;
  Stack& free = free_[static_cast<std::size_t>(device)];
  std::uint64_t top = free.load(std::memory_order_acquire);
  while ((top & kIndex) != 0) {
    EventPair& pair = pairs_[top & kIndex];
    if (free.compare_exchange_weak(top, changed(top, pair.next.load(std::memory_order_relaxed)),
                                   std::memory_order_acquire))
      return &pair;
  }
  std::uint32_t made = made_.load(std::memory_order_relaxed);
  do {
    if (made == kMost) return nullptr;
  } while (!made_.compare_exchange_weak(made, made + 1, std::memory_order_relaxed));
  EventPair& pair = pairs_[made + 1];
  pair.device = device;
  return &pair;
}

void EventPairs::push(Stack& stack, std::uint32_t index) {
  std::uint64_t top = stack.load(std::memory_order_relaxed);
  do {
    pairs_[index].next.store(static_cast<std::uint32_t>(top & kIndex), std::memory_order_relaxed);
  } while (!stack.compare_exchange_weak(top, changed(top, index), std::memory_order_release));
}

// `published_` is emptied at once and pairs are never popped one by one: an index is enough.
void EventPairs::publish(EventPair* pair) {
  const std::uint32_t index = index_of(pair);
  std::uint32_t top = published_.load(std::memory_order_relaxed);
  do {
    pair->next.store(top, std::memory_order_relaxed);
  } while (!published_.compare_exchange_weak(top, index, std::memory_order_release));
}

}  // namespace castscope::gpu
