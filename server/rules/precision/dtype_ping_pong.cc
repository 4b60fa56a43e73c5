// dtype-ping-pong: again and again in one step autocast brings a low-precision value up to float32 for an operator, and
// casts the operator's result down again for the next matrix product: two casts of an activation for each such operator
// (norms between the layers, on a GPU).
//
// Once in a step is ordinary (one float32 island before the loss), and so are conversions that the code asks for. Where
// nothing separates steps (inference), a stay in the outermost region counts as one.
#include <algorithm>
#include <map>
#include <set>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/low_kernels.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/precision/widened.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_ping_pong {
namespace {

// A model that does one thing in float32 makes one round trip; two come from a block that is there twice, or from a
// loop.
constexpr Threshold kThresholds[] = {
    {"round_trips", 2, "fewer of one line in one step are a float32 island, which is ordinary"}};

struct Group {
  store::OperatorUseId use = {};  // the first of the uses
  std::set<store::OperatorUseId> uses;
  std::uint8_t low = kNoDtype;
  std::uint64_t times = 0;
  std::vector<CastDown> ups, downs;
};

// Counts the casts up that autocast made for this operator, of values that were computed in low precision. An operator
// that sets a dtype argument (softmax) converts inside itself, where no flow shows it.
std::uint64_t brought_up(const UseGraph& graph, const store::OperatorUse& use, Group& group) {
  std::uint64_t times = 0;
  for (const UseGraph::Edge& edge : graph.into(use.id)) {
    const std::uint8_t low = graph.use(edge.flow->from).result;
    if (!is_low(low) || !is_forward(graph.use(edge.flow->from))) continue;
    const bool cast = edge.flow->cast_to == kFloat || (edge.flow->cast_to == kNoDtype && use.computed == kFloat);
    if (!cast) continue;
    times += edge.times;
    group.low = low;
    group.ups.push_back({use.id, edge.flow->argument, edge.times});
  }
  return std::min(times, graph.total(use.id).times);
}

// Returns how often the operator's result was cast down, at the line where that happened most often. (The layers of a
// loop have modules, and uses, of their own at one line; a value that several lines take went down once.)
std::uint64_t brought_down(const store::RunData& data, const UseGraph& graph, const std::vector<CastDown>& casts) {
  std::map<Line, std::uint64_t> by_line;
  std::uint64_t most = 0;
  for (const CastDown& cast : casts) {
    std::uint64_t& times = by_line[line_of(data, graph.use(cast.use).stack)];
    most = std::max(most, times += cast.times);
  }
  return most;
}

// A job without steps works region by region: inference.
bool has_steps(const store::RunData& data) {
  std::map<store::ProcessId, std::uint64_t> steps;
  for (const store::StepRun& run : data.step_runs) steps[run.process] += run.length();
  return std::ranges::any_of(steps, [](const auto& one) { return one.second > 1; });
}

std::uint64_t entered(const store::RunData& data, const Group& group) {
  std::set<store::RegionId> regions;
  for (const store::OperatorUseId use : group.uses) regions.insert(data.outermost(data.operator_uses[use].region));
  std::uint64_t times = 0;
  for (const store::RegionUse& use : data.region_uses)
    if (regions.contains(use.region)) times += use.entered;
  return times;
}

std::string fix_for(const store::RunData& data, const store::OperatorUse& use, const std::string& low, bool raises) {
  const std::string op(short_name(use.op)), off = turned_off(data, use.region);
  const std::string together = "what lies between its calls in float32, too (x.float(), with " + off +
                               " around all of it), so that values go up and down once.";
  if (raises)
    return "PyTorch has no kernel of " + op + " for " + low + " on " + std::string(store::device_name(use.device)) +
           ", so that it has to be in float32. Where the casts cost much, compute " + together;
  return "If " + op + " need not be in float32 here, run it with autocast off on what it is given (with " + off +
         ":), its weights in " + low + " too; else compute " + together;
}

void add_finding(Inquiry& inquiry, const UseGraph& graph, const Group& group, std::uint64_t steps) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& use = graph.use(group.use);
  const std::string op(short_name(use.op)), low(store::dtype_name(group.low));
  const store::OperatorUse& down = graph.use(group.downs.front().use);
  Finding& finding = inquiry.add(use.stack);
  finding.title = op + " takes " + low + " values up to float32, and " + short_name(down.op) +
                  " casts them down again, " + counted(group.times / steps, "time") +
                  (has_steps(data) ? " in a step" : " in each stay in the region");
  finding.evidence_number = {
      {"round_trips", group.times}, {"round_trips_per_step", group.times / steps}, {"deep_steps_or_stays", steps}};
  finding.evidence_text = {{"operator", use.op},
                           {"low_dtype", low},
                           {"cast_down_at", place_text(data, line_of(data, down.stack)) + " (" + down.op + ")"}};
  if (line_of(data, down.stack) != line_of(data, use.stack)) add_related(finding, data, down.stack);
  finding.deep_only = true;
  finding.savings = saved_per_step(data, casting_ns(data, graph, group.downs));
  finding.fix = fix_for(data, use, low, raises_in(use.op, use.device, group.low));
}

void judge_round_trips(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  const EnforcedDecisions enforced(data);
  std::map<Line, Group> groups;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!is_forward(use) || !use.is(lanes::kUseEligible) || use.computed != kFloat || use.result != kFloat) continue;
    if (use.is(lanes::kUseReduces | lanes::kUseConverts) || !in_autocast(data, use)) continue;
    if (enforced.promotes_to_widest(use)) continue;
    Group one;
    const std::uint64_t up = brought_up(graph, use, one);
    if (up == 0) continue;
    one.downs = follow_widened(data, enforced, graph, use.id).casts_down;
    if (one.downs.empty()) continue;
    Group& group = groups[line_of(data, use.stack)];
    if (group.use == 0) group.use = use.id, group.low = one.low;
    group.uses.insert(use.id);
    group.times += std::min(up, brought_down(data, graph, one.downs));
    group.downs.insert(group.downs.end(), one.downs.begin(), one.downs.end());
  }
  for (const auto& [line, group] : groups) {
    const std::uint64_t stays = has_steps(data) ? deep_steps(data, group.uses) : entered(data, group);
    const std::uint64_t steps = std::max<std::uint64_t>(1, stays);
    if (static_cast<double>(group.times) >= inquiry.threshold("round_trips") * static_cast<double>(steps))
      add_finding(inquiry, graph, group, steps);
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-ping-pong",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "autocast takes one value up to float32 and down again, several times in a step",
    .thresholds = kThresholds,
    .sees = kOperators,
    .explanation =
        {.what = "Blocks in which an operator that autocast runs in float32 stands between operators that "
                 "it runs in low precision: each value is cast up for the one and down for the next.",
         .why = "Each block costs two casts of a whole activation, and the memory of its float32 copy, "
                "which is kept for backward.",
         .example = R"(import torch

convolutions = torch.nn.ModuleList(torch.nn.Conv3d(4, 4, 3, padding=1) for _ in range(4))
x = torch.randn(1, 4, 16, 16, 16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for convolution in convolutions:
        x = convolution(x)
        x = torch.nn.functional.max_pool3d(x, 2)  # runs in float32 on a CPU, as norms do on a GPU)",
         .fix = "Run the operator in low precision, with autocast off around it, where PyTorch has a kernel for "
                "that; or compute what lies between its calls in float32, too.",
         .fixed_example = R"(import torch

convolutions = torch.nn.ModuleList(torch.nn.Conv3d(4, 4, 3, padding=1) for _ in range(4))
x = torch.randn(1, 4, 16, 16, 16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for convolution in convolutions:
        x = convolution(x)
        with torch.autocast("cpu", enabled=False):
            x = torch.nn.functional.max_pool3d(x, 2))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference"},
    .judge = judge_round_trips,
};

}  // namespace castscope::rules::dtype_ping_pong
