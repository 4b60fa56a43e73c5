#include "server/rules/evidence/operators/use_graph.h"

namespace castscope::rules {

UseGraph::UseGraph(const store::RunData& data)
    : data_(data),
      totals_(data.operator_uses.size()),
      out_(data.operator_uses.size()),
      into_(data.operator_uses.size()) {
  for (const store::UseCount& count : data.use_counts) {
    Total& total = totals_[count.use];
    total.times += count.times;
    total.bytes += count.bytes;
    total.ns += count.ns;
  }
  store::Table<std::uint64_t, store::Flow> times(data.flows.size());
  for (const store::FlowCount& count : data.flow_counts) times[count.flow] += count.times;
  for (const store::Flow& flow : data.flows) {
    if (times[flow.id] == 0) continue;
    out_[flow.from].push_back({&flow, times[flow.id]});
    into_[flow.to].push_back({&flow, times[flow.id]});
  }
}

}  // namespace castscope::rules
