// Our cache of low-precision copies of weights, in two layers.
//
// Data: one low-precision memory for each range of a weight's storage and dtype, without history, held by a weak
// reference to the storage. It may outlive regions, backward passes and steps, as long as it can be proved that the
// weight was not written since. Views of the same range (w.t()) share it.
//
// Edges: for the leaves that PyTorch's cache keeps, one tensor a region on that memory, with one place in autograd's
// graph: several uses of a weight in a region must meet in one node, as they do in PyTorch, where their gradients are
// summed in the lower precision. For a weight that is used once a region only the place is held: its copy goes when
// nothing else needs it, so that the next one is made in memory that lies in the processor's cache.
//
// Thread-safe. Only the edges hold references to weights, through the graph, until the region ends.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/flat_hash_map.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/cpython/python_api.h"
#include "agent/enforce/decided/policy_table.h"
#include "agent/enforce/edges.h"
#include "agent/enforce/kept_copy.h"
#include "agent/enforce/weights.h"
#include "agent/memory/own_memory.h"
#include "agent/memory/spin_lock.h"

namespace castscope::enforce {

struct CacheOptions {
  Keeping keeping;
  Keep until = Keep::kUntilWritten;
  // The most bytes of copies that PyTorch would not have: those of frozen weights and of views, and all that outlive a
  // region.
  std::optional<std::uint64_t> max_bytes;
};

using Outcome = agent::CastOutcome;

class Copies {
 public:
  // A region may last as long as the job: after so many new bytes, copies of weights that are gone are dropped.
  static constexpr std::uint64_t kMostUnlooked = 64 << 20;

  explicit Copies(const CacheOptions& options) : options_(options) {}

  // The copy of `arg`, which is float32, in `to`; undefined when `arg` is not dense memory.
  at::Tensor cast(const at::Tensor& arg, c10::ScalarType to, Kind kind, const Source& source, Outcome& outcome);

  // For a leaf: the copy that this region has, if it has one and the weight was not written since.
  at::Tensor served(const at::Tensor& arg, c10::ScalarType to);
  // Makes a copy of a leaf that PyTorch made the region's, unless the region has one.
  void adopt(const at::Tensor& arg, c10::ScalarType to, const at::Tensor& copy);

  // The outermost region has ended: drops the edges, and the copies that must not outlive it. Returns what is left.
  CacheContents end_region();
  CacheContents begin_step();  // a training step begins
  void optimizer_stepped();    // weights that require grad were written, whatever their version counters say

 private:
  struct EdgeKey {
    const c10::TensorImpl* source;
    c10::ScalarType to;
    bool operator==(const EdgeKey&) const = default;
  };
  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Edge {
    at::Tensor copy;  // undefined where the weight is used once a region
    Weak weak{c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>()};  // set where `copy` is not: it lasts as
                                                                                 // long as the graph has the copy
    Place place;
    Glance seen;
    std::shared_ptr<KeptCopy> range;  // nullptr: PyTorch made the copy
    bool used_again = false;
    bool is_new() const { return seen == Glance(); }
    bool is(const Edge& other) const {
      return copy.is_same(other.copy) && weak._unsafe_get_target() == other.weak._unsafe_get_target() &&
             seen == other.seen;
    }
    // To take hold of a tensor that Python has may need the GIL.
    at::Tensor present(const agent::MayWait&) const { return copy.defined() ? copy : at::Tensor(weak.lock()); }
  };
  struct RangeKey {
    const c10::StorageImpl* storage;
    std::int64_t offset, numel;
    c10::ScalarType to;
    bool operator==(const RangeKey&) const = default;
  };
  struct Hash {
    std::size_t operator()(const EdgeKey&) const noexcept;
    std::size_t operator()(const RangeKey&) const noexcept;
  };
  Glance glance(const at::Tensor& arg) const;
  at::Tensor keep_edge(const at::Tensor& arg, c10::ScalarType to, Edge edge);
  at::Tensor leaf(const at::Tensor& arg, c10::ScalarType to, Outcome& outcome);
  at::Tensor data(const at::Tensor& arg, c10::ScalarType to, KeptCopy& range, bool for_region, Outcome& outcome);
  std::shared_ptr<KeptCopy> range_of(const at::Tensor& arg, c10::ScalarType to, bool frozen);
  std::vector<std::shared_ptr<KeptCopy>> all();
  bool has_room(std::uint64_t bytes, CacheContents& gone);
  void forget_the_dead(CacheContents& gone);
  CacheContents drop_unless(bool (KeptCopy::*stays)() const);

  const CacheOptions options_;
  // Guards the maps. No code of PyTorch's runs under it, nor under a KeptCopy's mutex: to take or drop a tensor that
  // Python has may need the GIL, and its holder may wait for us.
  memory::SpinLock lock_;
  ska::flat_hash_map<EdgeKey, Edge, Hash> edges_;
  ska::flat_hash_map<RangeKey, std::shared_ptr<KeptCopy>, Hash> ranges_;
  std::atomic<std::uint64_t> region_{1};      // the present region
  std::atomic<std::uint64_t> made_bytes_{0};  // since the dead were last forgotten
  std::atomic<std::uint32_t> optimizer_steps_{0};
};

}  // namespace castscope::enforce
