// script-dtype-differs: the same line computed in one dtype in Python and in another when TorchScript ran it, scripted
// or traced. Its autocast pass has lists of its own, and brings operands of unknown dtypes to float32 to be safe.
//
// Compared are operators of one name at one line, each in an enabled region, as deep steps saw them; the lines of what
// torch.jit.trace runs to record are eager ones of another kind, and left out. What differs only because an operator
// before it did is its follower, and told with it.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/rules/counts.h"
#include "server/rules/dtypes.h"
#include "server/rules/finding.h"
#include "server/rules/operators.h"
#include "server/rules/places.h"
#include "server/rules/regions.h"
#include "server/rules/rules.h"
#include "server/rules/use_graph.h"
#include "server/rules/uses.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

using store::OperatorUse;
using store::RunData;

struct Spot {
  Line line;
  std::string op;
  auto operator<=>(const Spot&) const = default;
};
struct Seen {
  std::vector<const OperatorUse*> eager, script;
};

bool is_compared(const RunData& data, const OperatorUse& use) {
  if (use.phase == lanes::Phase::kBackward || !is_floating(use.computed)) return false;
  if (use.is(lanes::kUseView | lanes::kUseConverts) || is_within_torch(data, use.stack, "jit/_trace.py")) return false;
  return use.is(lanes::kUseScript) || in_autocast(data, use);
}

std::map<Spot, Seen> spots_of(const RunData& data) {
  std::map<Spot, Seen> spots;
  const std::vector<std::uint64_t> times = times_of_uses(data);
  for (const OperatorUse& use : data.operator_uses) {
    if (times[use.id] == 0 || !is_compared(data, use)) continue;
    Seen& seen = spots[{line_of(data, use.stack), work_of(use.op)}];
    (use.is(lanes::kUseScript) ? seen.script : seen.eager).push_back(&use);
  }
  return spots;
}

bool computed_in(const std::vector<const OperatorUse*>& uses, std::uint8_t dtype) {
  return std::any_of(uses.begin(), uses.end(), [&](const OperatorUse* use) { return use->computed == dtype; });
}

// A pair that differs: the first use of each.
struct Difference {
  const OperatorUse *script = nullptr, *eager = nullptr;
};

class Comparison {
 public:
  explicit Comparison(const RunData& data) : data_(data), graph_(data) {
    for (const auto& [spot, seen] : spots_of(data))
      for (const OperatorUse* script : seen.script)
        if (!seen.eager.empty() && !computed_in(seen.eager, script->computed))
          found_[script->id] = {script, seen.eager.front()};
  }
  // By the line of the script's operator, those that follow from no other.
  std::map<Line, std::vector<Difference>> first() const {
    std::map<Line, std::vector<Difference>> lines;
    for (const auto& [id, difference] : found_)
      if (!follows(id)) lines[line_of(data_, difference.script->stack)].push_back(difference);
    return lines;
  }
  // Lines of those that follow from it.
  std::set<Line> followers(const std::vector<Difference>& of) const {
    std::set<std::uint32_t> reached;
    for (const Difference& difference : of) reach(difference.script->id, reached);
    std::set<Line> lines;
    for (const std::uint32_t id : reached)
      if (const auto at = found_.find(id); at != found_.end()) lines.insert(line_of(data_, at->second.script->stack));
    for (const Difference& difference : of) lines.erase(line_of(data_, difference.script->stack));
    return lines;
  }

 private:
  // A value goes through views and casts to what computes with it.
  bool hands_on(std::uint32_t id) const { return graph_.use(id).is(lanes::kUseView | lanes::kUseConverts); }
  bool follows(std::uint32_t id) const {
    std::set<std::uint32_t> asked;
    std::vector<std::uint32_t> open = {id};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const UseGraph::Edge& edge : graph_.into(at)) {
        const std::uint32_t from = edge.flow->from;
        if (from != id && found_.contains(from)) return true;
        if (hands_on(from) && asked.insert(from).second) open.push_back(from);
      }
    }
    return false;
  }
  void reach(std::uint32_t id, std::set<std::uint32_t>& reached) const {
    for (const UseGraph::Edge& edge : graph_.out_of(id)) {
      const std::uint32_t to = edge.flow->to;
      if ((hands_on(to) || found_.contains(to)) && reached.insert(to).second) reach(to, reached);
    }
  }

  const RunData& data_;
  const UseGraph graph_;
  std::map<std::uint32_t, Difference> found_;  // by the script's use
};

void judge_it(Inquiry& inquiry) {
  const RunData& data = inquiry.data;
  const Comparison comparison(data);
  for (const auto& [line, differences] : comparison.first()) {
    const Difference& first = differences.front();
    Finding& finding = inquiry.add(first.script->stack);
    const std::string script(store::dtype_name(first.script->computed)),
        eager(store::dtype_name(first.eager->computed));
    std::set<std::string> ops;
    for (const Difference& difference : differences) ops.insert(work_of(difference.script->op));
    finding.title =
        absl::StrJoin(ops, ", ") + " computes in " + script + " where TorchScript runs it, in " + eager + " in Python";
    finding.evidence_text = {{"torchscript", script}, {"python", eager}};
    const std::set<Line> followers = comparison.followers(differences);
    if (!followers.empty()) {
      std::vector<std::string> places;
      for (const Line& follower : followers) places.push_back(follower.short_text());
      finding.evidence_text.emplace_back("and_from_there", absl::StrJoin(places, ", "));
    }
    finding.deep_only = true;
    finding.fix = is_low(first.eager->computed)
                      ? "If the dtype matters, convert the result in the code (.to(dtype)), or keep this operator out "
                        "of the script: TorchScript's autocast has lists of its own."
                      : "If float32 matters here, convert the arguments in the code (x.float()) within a region with "
                        "enabled=False in the script.";
  }
}

}  // namespace

extern const Rule script_dtype_differs;
const Rule script_dtype_differs = {
    .name = "script-dtype-differs",
    .severity = "error",
    .summary = "a line computes in another dtype in TorchScript than in Python",
    .thresholds = {},
    .explanation = {.what = "The same line ran in Python and by TorchScript, scripted or traced, each in a region, "
                            "and an operator of it computed in different dtypes.",
                    .why = "TorchScript casts by a pass with lists of its own: gelu, layer_norm, sum, log and others "
                           "go to float32 there, on a CPU eager autocast leaves them in bfloat16; add, mul, div and "
                           "stack are brought to float32 wherever the dtypes are not known.",
                    .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(self.linear(x))

net, x = Net(), torch.randn(2, 8)
scripted = torch.jit.script(net)
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(net(x).dtype, scripted(x).dtype)  # bfloat16, float32)",
                    .fix = "Convert where the dtype matters, or leave TorchScript: torch.compile and torch.export "
                           "follow eager autocast.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
