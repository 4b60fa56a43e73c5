#include "agent/gpu/cupti/buffers.h"

#include <sys/mman.h>

#include <cstdlib>

namespace castscope::gpu {

std::uint8_t* Buffers::request() {
  std::uint32_t index = pop(free_);
  if (index == kNone) {
    index = made_.load(std::memory_order_relaxed);
    do {
      if (index == kMost) return nullptr;
    } while (!made_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed));
    ++index;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;  // the place stays empty
    buffers_[index].data.store(static_cast<std::uint8_t*>(memory), std::memory_order_release);
  }
  out_.fetch_add(1, std::memory_order_relaxed);
  return buffers_[index].data.load(std::memory_order_relaxed);
}

std::uint8_t* Buffers::request_spare() {
  auto* const spare = static_cast<std::uint8_t*>(std::malloc(kBytes));
  for (std::atomic<std::uint8_t*>& place : spares_) {
    std::uint8_t* empty = nullptr;
    if (place.compare_exchange_strong(empty, spare)) break;
  }
  return spare;
}

void Buffers::throw_away(std::uint8_t* buffer) {
  for (std::atomic<std::uint8_t*>& place : spares_) {
    std::uint8_t* held = buffer;
    if (buffer != nullptr && place.compare_exchange_strong(held, nullptr)) return std::free(buffer);
  }
}

void Buffers::completed(std::uint8_t* buffer, std::size_t valid) {
  const std::uint32_t index = index_of(buffer);
  if (index == kNone) return throw_away(buffer);
  out_.fetch_sub(1, std::memory_order_relaxed);
  buffers_[index].valid = valid < kBytes ? valid : kBytes;
  push(full_, index);
}

Buffers::Full Buffers::take() {
  if (to_read_ == kNone) {
    // Takes all at once and reverses them: the last one is on top.
    std::uint64_t word = full_.load(std::memory_order_relaxed);
    while (!full_.compare_exchange_weak(word, ((word >> 32) + 1) << 32, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
    }
    for (auto at = static_cast<std::uint32_t>(word); at != kNone;) {
      const std::uint32_t next = buffers_[at].next.load(std::memory_order_relaxed);
      buffers_[at].next.store(to_read_, std::memory_order_relaxed);
      to_read_ = at;
      at = next;
    }
  }
  if (to_read_ == kNone) return {};
  const Buffer& first = buffers_[to_read_];
  to_read_ = first.next.load(std::memory_order_relaxed);
  return {first.data.load(std::memory_order_relaxed), first.valid};
}

void Buffers::give_back(std::uint8_t* buffer) { push(free_, index_of(buffer)); }

void Buffers::push(Stack& stack, std::uint32_t index) {
  std::uint64_t word = stack.load(std::memory_order_relaxed);
  do {
    buffers_[index].next.store(static_cast<std::uint32_t>(word), std::memory_order_relaxed);
  } while (!stack.compare_exchange_weak(word, ((word >> 32) + 1) << 32 | index, std::memory_order_release,
                                        std::memory_order_relaxed));
}

std::uint32_t Buffers::pop(Stack& stack) {
  std::uint64_t word = stack.load(std::memory_order_acquire);
  while (true) {
    const auto index = static_cast<std::uint32_t>(word);
    if (index == kNone) return kNone;
    const std::uint32_t next = buffers_[index].next.load(std::memory_order_relaxed);
    if (stack.compare_exchange_weak(word, ((word >> 32) + 1) << 32 | next, std::memory_order_acquire,
                                    std::memory_order_acquire))
      return index;
  }
}

std::uint32_t Buffers::index_of(const std::uint8_t* buffer) const {
  const std::uint32_t made = made_.load(std::memory_order_acquire);
  for (std::uint32_t i = 1; i <= made; ++i)
    if (buffers_[i].data.load(std::memory_order_relaxed) == buffer && buffer != nullptr) return i;
  return kNone;
}

}  // namespace castscope::gpu
