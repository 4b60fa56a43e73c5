// The buffers that CUPTI fills with records. It asks for an empty one and hands it back in whichever thread it likes,
// the job's among them, while it holds locks of its own. So neither side waits here: two stacks without locks. The
// memory is our own, taken at need and kept.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace castscope::gpu {

class Buffers {
 public:
  static constexpr std::size_t kBytes = 1u << 20;  // some 3,500 kernels; CUPTI's documentation advises 1 to 10 MB
  static constexpr std::uint32_t kMost = 64;

  // Returns an empty buffer; nullptr when all are out, or there is no memory.
  std::uint8_t* request();
  // Returns one more, for a CUPTI that must never be refused a buffer: what is written there is thrown away.
  std::uint8_t* request_spare();
  // `buffer` comes back with `valid` bytes of records. A buffer that is not ours is another client's, and left alone:
  // CUPTI may hand it to whichever client has the seat by then.
  void completed(std::uint8_t* buffer, std::size_t valid);

  struct Full {
    std::uint8_t* data = nullptr;
    std::size_t valid = 0;
  };
  // Takes the one that came back first among those not taken yet; `data` is nullptr where there is none. For one reader
  // at a time, which gives the buffer back when it is read.
  Full take();
  void give_back(std::uint8_t* buffer);

  // How many buffers CUPTI has and has not given back yet.
  std::uint32_t out() const { return out_.load(std::memory_order_relaxed); }

 private:
  // A stack of indices; the upper half of the word counts changes, so that no change goes unseen.
  using Stack = std::atomic<std::uint64_t>;
  static constexpr std::uint32_t kNone = 0;
  void push(Stack& stack, std::uint32_t index);
  std::uint32_t pop(Stack& stack);
  std::uint32_t index_of(const std::uint8_t* buffer) const;
  void throw_away(std::uint8_t* buffer);

  struct Buffer {
    std::atomic<std::uint8_t*> data{nullptr};
    std::atomic<std::uint32_t> next{kNone};
    std::size_t valid = 0;
  };
  static constexpr std::size_t kMostSpares = 256;  // buffers beyond these are never freed
  std::array<Buffer, kMost + 1> buffers_;          // index 0 is not used
  std::array<std::atomic<std::uint8_t*>, kMostSpares> spares_{};
  std::atomic<std::uint32_t> made_{0}, out_{0};
  Stack free_{kNone}, full_{kNone};
  std::uint32_t to_read_ = kNone;  // taken off `full_`, reversed; only the reader uses it
};

}  // namespace castscope::gpu
