// Tells for what each node of a CUDA graph was captured. A replay is one call, which launches all of the graph's
// kernels; each kernel names its node. Nodes are made while PyTorch captures, by the operators that then run, and are
// copied when the graph is made ready to launch: CUPTI reports both to the client that has its seat at that time.
//
// Threads: callbacks of CUPTI come in the thread that captures; the reader's thread calls find(). A lock of our own is
// held for a look-up; nothing is called meanwhile.
#pragma once

#include <cstdint>
#include <mutex>

#include "agent/gpu/work_book.h"
#include "agent/memory/own_memory.h"

namespace castscope::gpu {

class GraphNodes {
 public:
  // The table is emptied at this size, for a process that captures for ever.
  static constexpr std::size_t kMost = 500'000;

  explicit GraphNodes(const WorkBook& book) : book_(book) {}

  void created(std::uint64_t node, std::uint64_t ticket);
  void cloned(std::uint64_t node, std::uint64_t from);
  // False where it is not known, or its operator was never settled.
  bool find(std::uint64_t node, Purpose* purpose);
  // Looks up what was captured since, before the book forgets it. The reader calls it now and then.
  void settle();

 private:
  struct Node {
    std::uint64_t ticket = 0;  // 0: settled
    Purpose purpose;
  };
  const WorkBook& book_;
  std::mutex mutex_;
  memory::OwnMap<std::uint64_t, Node> nodes_;
  memory::OwnMap<std::uint64_t, std::uint64_t> clones_;  // clone → the node that it was copied from
  memory::OwnVector<std::uint64_t> unsettled_;
};

}  // namespace castscope::gpu
