#include "agent/matmuls/matmuls.h"

#include <algorithm>
#include <exception>

namespace castscope::matmuls {

void ThreadMatmuls::add(const MatmulCall& call) {
  const auto begin = pending_.begin() + static_cast<std::ptrdiff_t>(border_);
  // An operator that loops (over time, over a batch) makes the same call again.
  if (pending_.end() != begin && pending_.back().call == call) {
    ++pending_.back().times;
    return;
  }
  if (pending_.size() < kMostPending) {
    pending_.push_back({call, 1});
    return;
  }
  const MatmulCall less = without_sizes(call);
  const auto same = std::find_if(begin, pending_.end(), [&](const Pending& p) { return p.call == less; });
  if (same != pending_.end())
    ++same->times;
  else
    pending_.push_back({less, 1});  // these are few: only dtypes, flags and alignments differ
}

ThreadMatmuls::Placeds& ThreadMatmuls::family_of(const MatmulCall& call, std::uint32_t use, std::uint32_t op) {
  if (families_.size() >= kMostFamilies) families_.clear();
  const auto types = std::uint32_t{call.a} | std::uint32_t{call.b} << 8 | std::uint32_t{call.c} << 16 |
                     static_cast<std::uint32_t>(call.compute) << 24;
  return families_[{use, op, call.function, types}];
}

const ThreadMatmuls::Placed* ThreadMatmuls::find(const Placeds& placed, const MatmulCall& call) {
  const auto at = std::find_if(placed.begin(), placed.end(), [&](const Placed& p) { return p.call == call; });
  return at == placed.end() ? nullptr : &*at;
}

bool ThreadMatmuls::has_room(const Placeds& placed) {
  const auto sized =
      std::count_if(placed.begin(), placed.end(), [](const Placed& p) { return p.call != without_sizes(p.call); });
  return static_cast<std::size_t>(sized) < kMostShapes;
}

// The alignment of its matrices still tells whether they suit Tensor Cores. Only the worst one is kept, for all
// matrices, so that there are few different calls.
MatmulCall ThreadMatmuls::without_sizes(MatmulCall call) {
  call.m = call.n = call.k = call.batch = call.lda = call.ldb = call.ldc = 0;
  call.align_a = call.align_b = call.align_c = std::min({call.align_a, call.align_b, call.align_c});
  return call;
}

lanes::MatmulDefinition ThreadMatmuls::definition_of(const MatmulCall& call, std::uint32_t use, std::uint32_t op) {
  lanes::MatmulDefinition d{};
  d.use = use;
  d.op = op;
  d.m = call.m;
  d.n = call.n;
  d.k = call.k;
  d.batch = call.batch;
  d.lda = call.lda;
  d.ldb = call.ldb;
  d.ldc = call.ldc;
  d.a = call.a;
  d.b = call.b;
  d.c = call.c;
  d.compute = call.compute;
  d.align_a = call.align_a;
  d.align_b = call.align_b;
  d.align_c = call.align_c;
  d.flags = call.flags;
  return d;
}

void matmul_called(const MatmulCall& call) noexcept try {
  if (ThreadMatmuls* const matmuls = current_matmuls()) matmuls->add(call);
} catch (const std::exception&) {  // out of memory: the call is not told
}

}  // namespace castscope::matmuls
