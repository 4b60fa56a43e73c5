#include "server/rules/evidence/operators/use_graph.h"

namespace castscope::rules {

UseGraph::UseGraph(const store::RunData& data)
    : data_(data),
      totals_(data.operator_uses.size() + 1),
      out_(data.operator_uses.size() + 1),
      into_(data.operator_uses.size() + 1) {
  for (const store::UseCount& count : data.use_counts) {
    Total& total = totals_[count.use];
    total.times += count.times;
    total.bytes += count.bytes;
    total.ns += count.ns;
  }
  std::vector<std::uint64_t> times(data.flows.size() + 1);
  for (const store::FlowCount& count : data.flow_counts) times[count.flow] += count.times;
  for (const store::Flow& flow : data.flows) {
    if (times[flow.id] == 0) continue;
    out_[flow.from].push_back({&flow, times[flow.id]});
    into_[flow.to].push_back({&flow, times[flow.id]});
  }
}

}  // namespace castscope::rules
