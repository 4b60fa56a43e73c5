// policy-protected-arg-cast: places in an image, in pixels, lost their fractions in an autocast operator before they
// reached the operator that takes them as places (boxes of an ROI pooling).
//
// The operator that takes an argument shows that it is protected: its schema calls the argument boxes, rois and the
// like (lanes::kOperandBoxes). A policy that names other arguments takes effect when it is enforced. From there the
// rule follows the value back through conversions and operators that computed in low precision, to the operator whose
// argument autocast cast down. It reports only where that argument was seen to hold numbers that the dtype cannot hold.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::policy_protected_arg_cast {
namespace {

using store::OperatorUse;
using store::RunData;

class Search {
 public:
  explicit Search(const RunData& data) : data_(data) {
    for (const store::Flow& flow : data.flows) into_[flow.to].push_back(&flow);
    for (const store::ValueRange& range : data.value_ranges)
      if (range.site != 0 && range.integers < range.elements) note_largest(data.sites[range.site], range.most);
  }

  // Returns the operators that rounded the values of this argument.
  std::set<const OperatorUse*> rounding(const OperatorUse& taker, const lanes::Operand& operand) {
    found_.clear();
    seen_.clear();
    if (is_low(taker.computed) && operand.dtype == kFloat && is_rounding(taker)) found_.insert(&taker);
    follow_argument(taker.id, operand.argument);
    return found_;
  }
  double most_at(const OperatorUse& use) const {
    const auto found = most_.find(key_of(use.stack, use.op));
    return found == most_.end() ? 0 : found->second;
  }

 private:
  using Key = std::pair<Line, std::string>;
  Key key_of(store::StackId stack, const std::string& op) const { return {line_of(data_, stack), short_name(op)}; }
  void note_largest(const store::Site& site, double most) {
    if (site.role == lanes::Role::kWeight) return;
    double& known = most_[key_of(site.stack, site.op)];
    known = std::max(known, most);
  }
  bool is_rounding(const OperatorUse& use) const {
    return is_cast_down(data_, use) && most_at(use) >= largest_exact_integer(use.computed);
  }
  void follow_argument(store::OperatorUseId to, int argument) {
    for (const store::Flow* flow : into_[to])
      if (argument < 0 || flow->argument == argument) visit_use(data_.operator_uses[flow->from]);
  }
  void visit_use(const OperatorUse& use) {
    if (!seen_.insert(use.id).second) return;
    if (is_rounding(use)) {
      found_.insert(&use);
    } else if (use.is(lanes::kUseConverts) || is_low(use.computed)) {
      follow_argument(use.id, -1);
    }
  }

  const RunData& data_;
  std::map<store::OperatorUseId, std::vector<const store::Flow*>> into_;
  std::map<Key, double> most_;
  std::set<const OperatorUse*> found_;
  std::set<store::OperatorUseId> seen_;
};

void add_finding(Inquiry& inquiry, const OperatorUse& rounds, const OperatorUse& taker, double most) {
  const RunData& data = inquiry.data;
  const std::string low(store::dtype_name(rounds.computed)), name = short_name(rounds.op);
  Finding& finding = inquiry.add(rounds.stack);
  finding.title =
      "autocast rounds boxes to " + low + " in " + name + ", before " + short_name(taker.op) + " takes them";
  finding.deep_only = true;
  finding.evidence_text = {{"largest", readable_number(most)}, {"to_dtype", low}, {"to_operator", taker.op}};
  add_related(finding, data, taker.stack);
  finding.fix = "Compute boxes in float32: run this in a nested region with torch.autocast(\"" +
                std::string(store::device_name(rounds.device)) +
                "\", enabled=False), or give the boxes to the operator without it.";
}

void judge_boxes(Inquiry& inquiry) {
  const RunData& data = inquiry.data;
  Search search(data);
  std::map<store::OperatorUseId, store::OperatorUseId> found;  // rounds → the first that takes it
  for (const OperatorUse& use : data.operator_uses)
    for (const lanes::Operand& operand : use.operands)
      if (operand.flags & lanes::kOperandBoxes)
        for (const OperatorUse* rounds : search.rounding(use, operand)) found.try_emplace(rounds->id, use.id);
  std::set<Line> told;
  for (const auto& [rounds, taker] : found) {
    const OperatorUse& use = data.operator_uses[rounds];
    if (told.insert(line_of(data, use.stack)).second)
      add_finding(inquiry, use, data.operator_uses[taker], search.most_at(use));
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "policy-protected-arg-cast",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "bounding boxes are rounded by autocast on their way to the operator that takes them",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation =
        {.what = "An operator takes boxes (an argument that its schema calls boxes, rois, bboxes, proposals, dets or "
                 "anchors), and they went through an operator that autocast cast down, with values that the "
                 "low-precision dtype does not hold.",
         .why = "In pixels, bfloat16 has no fractions from 128 on, and only every second integer from 256 on: 301.7 "
                "becomes 302, 513.9 becomes 512. The operator then pools other pixels. It is not possible yet to name "
                "other arguments that need the same protection.",
         .example = R"(import torch

@torch.library.custom_op("example::roi_sum", mutates_args=())
def roi_sum(image: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    return image.sum() + boxes.float().sum(1)

boxes = torch.tensor([[10.3, 20.7, 301.7, 513.9]])
with torch.autocast("cpu", dtype=torch.bfloat16):
    scaled = boxes @ torch.eye(4)
    y = roi_sum(torch.randn(3, 600, 600), scaled))",
         .fix = "Keep the arithmetic of boxes out of autocast (`torch.autocast(…, enabled=False)`), or write it with "
                "operators that autocast leaves alone (`boxes * scale`).",
         .fixed_example = R"(import torch

@torch.library.custom_op("example::roi_sum", mutates_args=())
def roi_sum(image: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    return image.sum() + boxes.float().sum(1)

boxes = torch.tensor([[10.3, 20.7, 301.7, 513.9]])
with torch.autocast("cpu", dtype=torch.bfloat16):
    with torch.autocast("cpu", enabled=False):
        scaled = boxes @ torch.eye(4)
    y = roi_sum(torch.randn(3, 600, 600), scaled))",
         .links = "https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference"},
    .judge = judge_boxes,
};

}  // namespace castscope::rules::policy_protected_arg_cast
