#include "server/timeline/series/holdings.h"

namespace castscope::timeline {

void Holdings::sealed(Chunk& made, std::size_t& without_items) {
  chunks_.push_back({&made, &without_items});
  memory_ += made.memory();
  items_ += made.items_memory();
  fine_ += made.memory() - made.items_memory();
}

void Holdings::fit() {
  while (memory() > budget_ && without_levels_ < chunks_.size()) {
    const bool items_left = without_items_ < chunks_.size(), fine_left = without_fine_ < without_items_;
    if (items_left && (items_ > budget_ / 2 || without_levels_ == without_items_))
      drop_items();
    else if (fine_left && (fine_ > budget_ / 4 || without_levels_ == without_fine_))
      drop_fine_levels();
    else if (without_levels_ < without_fine_)
      drop_levels();
    else
      return;
  }
}

void Holdings::drop_items() {
  const SealedChunk& oldest = chunks_[without_items_++];
  const std::size_t bytes = oldest.chunk->items_memory();
  oldest.chunk->drop_items();
  ++*oldest.without_items;
  memory_ -= bytes;
  items_ -= bytes;
}

void Holdings::drop_fine_levels() {
  Chunk& oldest = *chunks_[without_fine_++].chunk;
  const std::size_t before = oldest.memory();
  oldest.drop_fine_levels();
  memory_ -= before - oldest.memory();
  fine_ -= before;
}

void Holdings::drop_levels() {
  Chunk& oldest = *chunks_[without_levels_++].chunk;
  const std::size_t before = oldest.memory();
  oldest.drop_levels();
  memory_ -= before - oldest.memory();
}

}  // namespace castscope::timeline
