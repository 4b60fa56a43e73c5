// Arranges operator uses and flows as a graph, with their counts in all processes together (deep steps).
//
// A value is followed from the use that made it to those that take it; views, copies and conversions that change
// nothing are not uses, so the value between two uses is the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::rules {

class UseGraph {
 public:
  explicit UseGraph(const store::RunData&);
  struct Edge {
    const store::Flow* flow = nullptr;
    std::uint64_t times = 0;
  };
  struct Total {
    std::uint64_t times = 0, bytes = 0, ns = 0;
    double ns_each() const { return times == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(times); }
  };
  const store::OperatorUse& use(store::OperatorUseId id) const { return data_.operator_uses[id]; }
  const Total& total(store::OperatorUseId use) const { return totals_[use]; }
  std::span<const Edge> out_of(store::OperatorUseId use) const { return out_[use]; }
  std::span<const Edge> into(store::OperatorUseId use) const { return into_[use]; }

 private:
  const store::RunData& data_;
  store::Table<Total, store::OperatorUse> totals_;
  store::Table<std::vector<Edge>, store::OperatorUse> out_, into_;
};

}  // namespace castscope::rules
