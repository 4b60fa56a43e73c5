// Counts the memory that a timeline takes, and frees some when it is too much. The oldest chunks lose first their
// single events, then their finer levels, then all levels. Half of the budget stays for the newest single events, so
// that there always are some, and half of the rest for fine levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/timeline/series/chunk.h"

namespace castscope::timeline {

class Holdings {
 public:
  explicit Holdings(std::size_t budget) : budget_(budget) {}
  void changed(std::size_t before, std::size_t after) { memory_ += after - before; }
  // Registers a chunk that is full. `without_items` counts the chunks of its series whose single events were dropped.
  void sealed(Chunk&, std::size_t& without_items);
  void fit();
  std::size_t memory() const { return memory_ + chunks_.capacity() * sizeof(SealedChunk); }

 private:
  struct SealedChunk {
    Chunk* chunk;
    std::size_t* without_items;
  };
  void drop_items();
  void drop_fine_levels();
  void drop_levels();

  const std::size_t budget_;
  std::size_t memory_ = 0, items_ = 0, fine_ = 0;  // bytes: all; of single events; of chunks with fine levels
  std::vector<SealedChunk> chunks_;                // in the order in which they were filled
  std::size_t without_items_ = 0, without_fine_ = 0, without_levels_ = 0;  // numbers of the oldest chunks
};

}  // namespace castscope::timeline
