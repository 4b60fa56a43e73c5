// Where events of a lane are missing. How many were dropped is told as a number, often before the events around the gap
// arrive: until everything that was written by then has arrived, a gap may be anywhere.
#pragma once

#include <cstdint>

#include "server/store/run/run_sink.h"

namespace castscope::store {

class LaneGaps {
 public:
  // Whether events may be missing before the next one, since the one before it or since this was last true.
  bool before_next() {
    const bool may = unsure_;
    if (next_++ >= until_) unsure_ = false;
    return may;
  }
  // True when more were dropped.
  bool take_row(const LaneRow& row) {
    const bool more = row.dropped > dropped_;
    if (more) {
      unsure_ = true;
      until_ = row.written;
    }
    dropped_ = row.dropped;
    next_ = row.next;
    return more;
  }
  // Takes each event that arrived. A thread that has told of nothing but kernels of GPUs since it began has no part in
  // what steps consist of, and neither has what is missing of it.
  void take_event(lanes::EventKind kind) {
    kernels_ |= kind == lanes::EventKind::kKernel;
    more_ |= kind != lanes::EventKind::kKernel && kind != lanes::EventKind::kThread;
  }
  bool only_kernels() const { return kernels_ && !more_; }
  // An earlier life of the file had it so; what it had seen is not known now.
  void adopt(const LaneRow& row) {
    dropped_ = row.dropped;
    next_ = until_ = row.next;
    unsure_ = true;
  }

 private:
  std::uint64_t next_ = 0;  // number in the lane of the next event
  std::uint64_t until_ = 0;
  std::uint64_t dropped_ = 0;
  bool unsure_ = false;
  bool kernels_ = false, more_ = false;
};

}  // namespace castscope::store
