// The matrix products of a thread. They are kept from the call until the operator that made it ends, when its use is
// known, and then counted by use and by what was computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "agent/lanes/lane_writer.h"
#include "agent/matmuls/matmul_call.h"
#include "agent/memory/own_memory.h"

namespace castscope::matmuls {

// The most products of an operator that are told apart by their sizes, when those vary (sequences of all lengths).
inline constexpr std::size_t kMostShapes = 16;

// Belongs to one thread, and only that thread may use it.
class ThreadMatmuls : public memory::InOwnMemory {
 public:
  // The most products of all open operators together. Further products lose their sizes, but are still counted.
  static constexpr std::size_t kMostPending = 1024;
  // The table is emptied at this size, which a thread reaches that always calls new operators. Whatever is asked for
  // again is then looked up again.
  static constexpr std::size_t kMostFamilies = 20'000;

  void add(const MatmulCall& call);

  std::size_t pending() const { return pending_.size(); }
  // An operator begins now: returns where its products begin.
  std::size_t begin() { return border_ = pending_.size(); }

  // The operator ends: its products, those since `from`, belong to its use. `define(definition, function)` gives the
  // counter of a definition, whose `function` it fills in; if it returns nullptr there is no room, and it is not asked
  // again. May throw std::bad_alloc, or what `define` throws; the products are gone then.
  template <typename Define>
  void place(std::size_t from, std::uint32_t use, std::uint32_t op, Define&& define) {
    const Cut cut{*this, from};
    for (std::size_t i = from; i < pending_.size(); ++i) {
      lanes::Counter* const counter = counter_of(pending_[i].call, use, op, define);
      if (counter != nullptr) lanes::LaneWriter::add(counter->casts, pending_[i].times);
    }
  }

  // The operator ends, and its products are not counted.
  void drop(std::size_t from) { const Cut cut{*this, from}; }

 private:
  struct Pending {
    MatmulCall call;
    std::uint64_t times;
  };
  // The properties that products have in common which differ in sizes only.
  struct Family {
    std::uint32_t use, op;
    const char* function;
    std::uint32_t types;  // a, b, c, compute
    bool operator==(const Family&) const = default;
  };
  struct FamilyHash {
    std::size_t operator()(const Family& f) const {
      std::size_t h = std::hash<const void*>{}(f.function);
      for (const std::uint32_t word : {f.use, f.op, f.types}) h = (h ^ word) * 0x9e3779b97f4a7c15 >> 7;
      return h;
    }
  };
  struct Placed {
    MatmulCall call;
    lanes::Counter* counter;
  };
  using Placeds = memory::OwnVector<Placed>;
  struct Cut {  // cuts them off however the function ends
    ThreadMatmuls& self;
    std::size_t from;
    ~Cut() {
      if (from < self.pending_.size())
        self.pending_.erase(self.pending_.begin() + static_cast<std::ptrdiff_t>(from), self.pending_.end());
      self.border_ = self.pending_.size();
    }
  };

  template <typename Define>
  lanes::Counter* counter_of(MatmulCall call, std::uint32_t use, std::uint32_t op, Define& define) {
    Placeds& placed = family_of(call, use, op);
    if (const Placed* known = find(placed, call)) return known->counter;
    if (!has_room(placed)) {
      call = without_sizes(call);
      if (const Placed* known = find(placed, call)) return known->counter;
    }
    lanes::MatmulDefinition definition = definition_of(call, use, op);
    placed.push_back({call, nullptr});
    return placed.back().counter = define(definition, call.function);
  }
  Placeds& family_of(const MatmulCall& call, std::uint32_t use, std::uint32_t op);
  static const Placed* find(const Placeds& placed, const MatmulCall& call);
  static bool has_room(const Placeds& placed);
  static MatmulCall without_sizes(MatmulCall call);
  static lanes::MatmulDefinition definition_of(const MatmulCall& call, std::uint32_t use, std::uint32_t op);

  memory::OwnVector<Pending> pending_;
  std::size_t border_ = 0;  // products before it belong to operators around the open one
  memory::OwnMap<Family, Placeds, FamilyHash> families_;
};

// The products of the calling thread, if its operators are looked at; nullptr: they are not, or the thread is in a call
// of ours. Defined in agent/operators, which knows threads.
ThreadMatmuls* current_matmuls() noexcept;

}  // namespace castscope::matmuls
