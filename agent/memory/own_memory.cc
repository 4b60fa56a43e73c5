#include "agent/memory/own_memory.h"

#include <sys/mman.h>

#include <bit>
#include <mutex>
#include <new>

#include "agent/memory/spin_lock.h"

namespace castscope::memory {
namespace {

constexpr std::size_t kStep = 16, kFine = 512, kLargest = 32 << 10, kPage = 4096, kSlab = 1 << 20;
constexpr std::size_t kFineBins = kFine / kStep;
constexpr std::size_t kBins = kFineBins + std::bit_width(kLargest / kFine) - 1;

// Sizes 16, 32, … 512, then 1024, 2048, … up to the largest.
constexpr std::size_t bin_of(std::size_t bytes) {
  if (bytes <= kFine) return bytes == 0 ? 0 : (bytes - 1) / kStep;
  return kFineBins + static_cast<std::size_t>(std::bit_width((bytes - 1) / kFine)) - 1;
}
constexpr std::size_t size_of(std::size_t bin) {
  return bin < kFineBins ? (bin + 1) * kStep : kFine << (bin - kFineBins + 1);
}
static_assert(size_of(bin_of(1)) == 16 && size_of(bin_of(512)) == 512 && size_of(bin_of(513)) == 1024);
static_assert(size_of(bin_of(1024)) == 1024 && size_of(bin_of(1025)) == 2048 && bin_of(kLargest) == kBins - 1);

bool of_pages(std::size_t bytes, std::size_t alignment) { return bytes > kLargest || alignment > kStep; }
std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

char* map(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(at);
}

struct Free {
  Free* next;
};
// It has no constructor, so it exists before, and after, everything that has one.
constinit SpinLock g_lock;
constinit Free* g_free[kBins] = {};
constinit char* g_slab = nullptr;
constinit std::size_t g_left = 0;

}  // namespace

void* own_memory(std::size_t bytes, std::size_t alignment) {
  if (of_pages(bytes, alignment)) return map(pages(bytes));
  const std::size_t bin = bin_of(bytes), size = size_of(bin);
  const std::lock_guard lock(g_lock);
  if (Free* const block = g_free[bin]) {
    g_free[bin] = block->next;
    return block;
  }
  if (g_left < size) {
    g_slab = map(kSlab);
    g_left = kSlab;
  }
  void* const block = g_slab;
  g_slab += size;
  g_left -= size;
  return block;
}

void give_back(void* block, std::size_t bytes, std::size_t alignment) noexcept {
  if (block == nullptr) return;
  if (of_pages(bytes, alignment)) {
    munmap(block, pages(bytes));
    return;
  }
  const std::lock_guard lock(g_lock);
  g_free[bin_of(bytes)] = new (block) Free{g_free[bin_of(bytes)]};
}

void hold_own_memory() { g_lock.lock(); }
void release_own_memory() { g_lock.unlock(); }

}  // namespace castscope::memory
