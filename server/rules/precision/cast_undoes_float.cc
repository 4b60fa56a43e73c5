// cast-undoes-float: the code brings a low-precision value up (`.float()`), and autocast casts it straight back for the
// operator that takes it: two casts, and nothing was computed in float32.
//
// Not a finding: a value that an operator in float32 takes as well (a loss, a softmax), or one that was something other
// than low precision before (pixels, a mask); data that comes in as float16 and is brought up outside the region; and
// an operator that runs in a region which leaked from elsewhere (region-leaks-through-yield) or stayed on
// (region-never-closed): the region is wrong there.
//
// The rule does not know whether the code says `.float()` or aligns dtypes (`h.to(layer.weight.dtype)`, as libraries
// do). A conversion that castscope made for an annotation is reported as such.
#include <algorithm>
#include <map>
#include <set>

#include "server/rules/evidence/amp_handle.h"
#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/evidence/region_work.h"
#include "server/rules/inquiry/rule.h"
#include "server/rules/precision/widened.h"
#include "server/store/run/names.h"

namespace castscope::rules::cast_undoes_float {
namespace {

bool brings_up(const store::OperatorUse& use) {
  return is_forward(use) && use.is(lanes::kUseConverts) && use.result == kFloat && !use.operands.empty() &&
         is_low(use.operands.front().dtype);
}

// Returns the flows of the value, if all operators that take it cast it down.
std::vector<UseGraph::Edge> undone_at(const store::RunData& data, const UseGraph& graph, store::OperatorUseId up) {
  std::vector<UseGraph::Edge> undone;
  for (const UseGraph::Edge& edge : graph.out_of(up)) {
    const store::OperatorUse& to = graph.use(edge.flow->to);
    if (to.phase == lanes::Phase::kBackward) continue;
    const bool here = data.outermost(to.region) == data.outermost(graph.use(up).region);
    if (!here || !is_low(edge.flow->cast_to) || !to.is(lanes::kUseEligible)) return {};
    undone.push_back(edge);
  }
  return undone;
}

// Returns the lines that ran in a region which its owner had left open across an await or yield, or in one of a script
// or a trace that switches autocast off without effect: there the region is wrong, and not the conversion.
std::set<Line> lines_in_wrong_regions(const store::RunData& data) {
  std::set<Line> lines = lines_cast_though_off(data);
  const auto seen = times_of_facts(data);
  for (const store::Fact& fact : data.facts)
    if (seen[fact.id] > 0 && fact.kind == lanes::FactKind::kRegionLeaked) lines.insert(line_of(data, fact.stack));
  return lines;
}

struct Group {
  store::OperatorUseId up = {};
  std::uint8_t low = kNoDtype;
  std::uint64_t times = 0;
  std::vector<CastDown> casts;
};

// Returns "the value", or the function whose annotation made castscope bring it up.
std::string brought_up_text(const store::RunData& data, const store::Site* annotated) {
  if (annotated == nullptr) return "the value is brought to float32";
  const std::string argument = argument_name(data, *annotated);
  return "the annotation of " + annotated->op + " brings " + (argument.empty() ? "its argument" : "its " + argument) +
         " to float32";
}

std::string fix_for(const store::Site* annotated, const Line& up, const std::string& op, const std::string& low,
                    const std::string& off) {
  const std::string then = "under autocast " + op + " computes in " + low + " whatever it is given. ";
  if (annotated != nullptr)
    return "Take the annotation off " + annotated->op +
           " (castscope.float_function, force_fp32, never_cast or promote_function, or a policy's rule for it): " +
           then + "If it has to be float32, annotate the function that calls " + op + ".";
  return "Leave out the conversion to float32 at " + up.short_text() +
         " (.float(), or .to() with the dtype of a weight): " + then + "If it has to be float32, put both into `with " +
         off + ":`.";
}

// Returns what the conversions to float32 at this place took.
double conversion_ns(const store::RunData& data, const store::OperatorUse& conversion, std::uint8_t low) {
  double ns = 0;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.stack == conversion.stack && site.region == conversion.region && site.from == low && site.to == kFloat &&
        site.cause != lanes::Cause::kBackward)
      ns += static_cast<double>(use.counts.cpu_ns);
  }
  return ns;
}

void add_finding(Inquiry& inquiry, const UseGraph& graph, const Group& group) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse &to = graph.use(group.casts.front().use), &conversion = graph.use(group.up);
  const std::string low(store::dtype_name(group.low));
  const std::string op(short_name(to.op));
  const store::Site* const annotated = annotation_of(data, conversion);
  Finding& finding = inquiry.add(to.stack);
  finding.title = brought_up_text(data, annotated) + " and " + op + " casts it straight back to " + low;
  finding.evidence_number = {{"casts_up", group.times}, {"casts_down", group.times}};
  const Line up = line_of(data, conversion.stack);
  finding.evidence_text = {{"operator", to.op}, {"low_dtype", low}, {"brought_up_at", place_text(data, up)}};
  if (annotated != nullptr) finding.evidence_text.emplace_back("annotated_function", annotated->op);
  if (up != line_of(data, to.stack)) add_related(finding, data, conversion.stack);
  finding.deep_only = true;
  finding.savings =
      saved_per_step(data, casting_ns(data, graph, group.casts) + conversion_ns(data, conversion, group.low));
  finding.fix = fix_for(annotated, up, op, low, turned_off(data, to.region));
}

void judge_undone_conversions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const UseGraph graph(data);
  const std::set<Line> wrong_regions = lines_in_wrong_regions(data);
  const auto left_on = regions_left_on(data);
  std::map<Line, Group> groups;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!brings_up(use) || use.region == 0) continue;
    for (const UseGraph::Edge& edge : undone_at(data, graph, use.id)) {
      const store::OperatorUse& down = graph.use(edge.flow->to);
      const Line at = line_of(data, down.stack);
      if (wrong_regions.contains(at) || (down.region != 0 && left_on[down.region])) continue;
      Group& group = groups[at];
      if (group.up == 0) group.up = use.id, group.low = edge.flow->cast_to;
      group.times += edge.times;
      group.casts.push_back({edge.flow->to, edge.flow->argument, edge.times});
    }
  }
  for (const auto& [line, group] : groups) add_finding(inquiry, graph, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "cast-undoes-float",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "a value is brought to float32 by the code and cast straight back by autocast",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "The code brings a low-precision value to float32 (`.float()`, `.to(weight.dtype)`), and "
                            "all that take it are operators that autocast runs in low precision.",
                    .why = "The value is cast twice and has gained nothing. If somebody wrote `.float()` so that the "
                           "operator computes in float32: it does not.",
                    .example = R"(import torch

layer, head = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = layer(torch.randn(8, 64))
    y = head(h.float())  # cast back to bfloat16 at once)",
                    .fix = "Leave the conversion out, or really compute in float32: `with torch.autocast(device, "
                           "enabled=False): head(h.float())`.",
                    .fixed_example = R"(import torch

layer, head = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    h = layer(torch.randn(8, 64))
    y = head(h))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_undone_conversions,
};

}  // namespace castscope::rules::cast_undoes_float
