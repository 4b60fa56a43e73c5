#include "server/exported/summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "server/exported/operator_facts.h"

namespace castscope::exported {
namespace {

void add_operators(const Walk& walk, Summary& summary) {
  std::map<std::tuple<Dtype, std::string, Dtype, bool>, std::size_t> counts;
  for (const Step& step : walk.steps) {
    if (!step.casts) counts[{step.computed, step.node->op, step.recorded, step.runs.certain}]++;
  }
  for (const auto& [key, count] : counts) {
    const auto& [computed, op, recorded, certain] = key;
    summary.operators.push_back({op, computed, recorded, count, certain});
  }
  // The map has already sorted them by dtype.
  std::stable_sort(summary.operators.begin(), summary.operators.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::make_tuple(a.computed, b.count) < std::make_tuple(b.computed, a.count);
  });
}

void add_casts(const Walk& walk, Summary& summary) {
  std::map<std::tuple<std::string, std::int64_t, Dtype, Dtype>, std::size_t> places;
  for (const Step& step : walk.steps) {
    if (!step.casts) continue;
    const store::CodeLocation at = step.node->place ? step.node->place->at : store::CodeLocation();
    const auto [place, is_new] =
        places.try_emplace({at.file, at.line, step.from, step.runs.dtype}, summary.casts.size());
    if (is_new) summary.casts.push_back({.at = at, .from = step.from, .to = step.runs.dtype});
    CastRow& row = summary.casts[place->second];
    row.count++;
    row.of_weights += step.of_weight ? 1 : 0;
  }
}

void add_origins(const Graph& graph, Summary& summary, std::set<std::string>& modules) {
  for (const Node& node : graph.nodes) {
    if (node.retraced) summary.decomposed = true;
    if (node.from_region) {
      summary.taken_apart++;
      if (!node.module_class.empty()) modules.insert(node.module_class);
    }
    for (const Argument& argument : node.arguments) {
      if (argument.graph != nullptr) add_origins(*argument.graph, summary, modules);
    }
  }
}

}  // namespace

Summary summary_of(const Program& program, const Walk& walk) {
  Summary summary;
  summary.program = program.name;
  summary.torch_version = program.torch_version;
  summary.schema = absl::StrCat(program.schema_major, ".", program.schema_minor);
  add_operators(walk, summary);
  add_casts(walk, summary);
  summary.regions = walk.regions;
  summary.stops = walk.stops;
  std::set<std::string> modules;
  add_origins(program.graph, summary, modules);
  summary.modules.assign(modules.begin(), modules.end());
  return summary;
}

}  // namespace castscope::exported
