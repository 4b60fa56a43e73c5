#include "server/timeline/holdings.h"

#include "server/timeline/series.h"

namespace castscope::timeline {

Chunk& Holdings::chunk(std::size_t i) const { return *chunks_[i].series->heads_[chunks_[i].chunk].chunk; }

void Holdings::sealed(Series& series, std::size_t index) {
  chunks_.push_back({&series, index});
  const Chunk& made = chunk(chunks_.size() - 1);
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
  Chunk& oldest = chunk(without_items_++);
  const std::size_t bytes = oldest.items_memory();
  oldest.drop_items();
  ++chunks_[without_items_ - 1].series->without_items_;
  memory_ -= bytes;
  items_ -= bytes;
}

void Holdings::drop_fine_levels() {
  Chunk& oldest = chunk(without_fine_++);
  const std::size_t before = oldest.memory();
  oldest.drop_fine_levels();
  memory_ -= before - oldest.memory();
  fine_ -= before;
}

void Holdings::drop_levels() {
  Chunk& oldest = chunk(without_levels_++);
  const std::size_t before = oldest.memory();
  oldest.drop_levels();
  memory_ -= before - oldest.memory();
}

}  // namespace castscope::timeline
