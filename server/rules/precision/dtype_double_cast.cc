// dtype-double-cast: autocast casts from one low precision to another (float16 weights in a bfloat16 region). Values
// that were rounded to the one are rounded again to the other, and at each use, since autocast keeps copies of float32
// weights only.
//
// The rule leaves alone data that comes in as float16, which has to be cast once anyway, but reports values that the
// code itself made float16 on the way.
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/fsdp_casts.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/use_graph.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/causes.h"
#include "server/store/run/names.h"

namespace castscope::rules::dtype_double_cast {
namespace {

struct Group {
  store::StackId stack = {};
  std::uint8_t from = 0, to = 0;
  std::string op;
  store::Counts counts;
  std::set<std::string> arguments;
  bool weights = false;
  bool avoidable = false;
  store::OperatorUseId converted_by = {};  // use of the code's own conversion to the first of the two dtypes
};

bool is_double(const store::Site& site) {
  return store::is_autocasts(site.cause) && !(site.flags & lanes::kSiteNoCast) && is_low(site.from) &&
         is_low(site.to) && site.from != site.to;
}

// Returns the lines whose casts take a value that the code itself brought down from float32, with the use of that
// conversion.
std::map<Line, store::OperatorUseId> converted_by_code(const store::RunData& data) {
  const UseGraph graph(data);
  std::map<Line, store::OperatorUseId> lines;
  for (const store::OperatorUse& use : data.operator_uses) {
    if (!is_forward(use) || !use.is(lanes::kUseConverts) || !is_low(use.result)) continue;
    for (const UseGraph::Edge& edge : graph.out_of(use.id))
      if (is_low(edge.flow->cast_to) && edge.flow->cast_to != use.result && is_forward(graph.use(edge.flow->to)))
        lines.emplace(line_of(data, graph.use(edge.flow->to).stack), use.id);
  }
  return lines;
}

std::string fix_for(const Group& group) {
  const std::string from(store::dtype_name(group.from)), to(store::dtype_name(group.to));
  if (group.weights)
    return "Use one of the two: keep the weights in float32 (leave out .half() or .to()), convert the model with .to(" +
           std::string("torch.") + to + "), or open the region with dtype=torch." + from + ".";
  return "Leave the conversion to torch." + from + " out: autocast casts to " + to + " where it has to.";
}

void add_finding(Inquiry& inquiry, const Group& group) {
  const store::RunData& data = inquiry.data;
  Finding& finding = inquiry.add(group.stack);
  const std::string from(store::dtype_name(group.from)), to(store::dtype_name(group.to));
  const std::string arguments = absl::StrJoin(group.arguments, ", ");
  finding.title = short_name(group.op) + " casts its " + arguments + " from " + from + " to " + to;
  finding.evidence_number = {
      {"casts", group.counts.casts}, {"bytes", group.counts.bytes}, {"cpu_ns", group.counts.cpu_ns}};
  finding.evidence_text = {
      {"operator", group.op}, {"from_dtype", from}, {"to_dtype", to}, {"argument_names", arguments}};
  if (group.converted_by != 0) add_related(finding, data, data.operator_uses[group.converted_by].stack);
  finding.savings = saved_per_step(data, static_cast<double>(group.counts.cpu_ns));
  finding.fix = fix_for(group);
}

// Returns the lines where TorchScript has cast the value before: script-keeps-first-dtype reports them.
std::set<Line> cast_by_script(const store::RunData& data) {
  std::set<Line> lines;
  for (const store::Site& site : data.sites)
    if (site.cause == lanes::Cause::kScript && is_low(site.to)) lines.insert(line_of(data, site.stack));
  return lines;
}

void judge_double_casts(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const std::map<Line, store::OperatorUseId> converted = converted_by_code(data);
  const std::set<Line> scripts = cast_by_script(data);
  std::map<std::pair<Line, std::uint8_t>, Group> groups;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (!is_double(site) || use.counts.casts == 0 || fsdp_and_autocast_differ(data, use.process)) continue;
    const Line line = line_of(data, site.stack);
    if (scripts.contains(line)) continue;
    Group& group = groups[{line, site.to}];
    if (group.stack == 0) group.stack = site.stack, group.from = site.from, group.to = site.to, group.op = site.op;
    group.counts += use.counts;
    group.arguments.insert(argument_text(data, site));
    group.weights |= is_of_model(site);
    const auto by = converted.find(line);
    if (by != converted.end()) group.converted_by = by->second;
    group.avoidable |= group.weights || group.converted_by != 0 || site.role == lanes::Role::kActivation;
  }
  for (const auto& [key, group] : groups)
    if (group.avoidable) add_finding(inquiry, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "dtype-double-cast",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "autocast casts what is float16 to bfloat16, or the other way round",
    .thresholds = {},
    .sees = kOperators,
    .explanation = {.what = "The weights, or a value on the way, are in one low precision and the autocast region is "
                            "in the other: autocast casts from one to the other at each use.",
                    .why = "The value is rounded twice, and keeps the smaller range of the one and the fewer digits of "
                           "the other. Autocast keeps copies of float32 weights only, so it is done again at each use.",
                    .example = R"(import torch

layer = torch.nn.Linear(64, 64).half()
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(3):
        y = layer(torch.randn(8, 64)))",
                    .fix = "Keep the weights in float32, or use the same dtype for the model and the region.",
                    .fixed_example = R"(import torch

layer = torch.nn.Linear(64, 64)
with torch.autocast("cpu", dtype=torch.bfloat16):
    for _ in range(3):
        y = layer(torch.randn(8, 64)))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_double_casts,
};

}  // namespace castscope::rules::dtype_double_cast
