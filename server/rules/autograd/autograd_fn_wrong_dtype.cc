// autograd-fn-wrong-dtype: the backward of the job's own autograd Function ran under autocast, and in another dtype
// than its forward: in float16 for a bfloat16 forward (backward was called in another region, or the decorator restored
// the wrong state), or in low precision for a forward that ran in float32.
#include "absl/strings/str_join.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/own_functions.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::autograd_fn_wrong_dtype {
namespace {

bool is_wrong(const store::RunData& data, const OwnFunction& function, const store::OperatorUse& use) {
  if (!is_cast_down(data, use)) return false;
  if (!function.forward_low.empty()) return !function.forward_low.contains(use.computed);
  return function.forward_float > 0;
}

void judge_backward_dtypes(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto wrong = [&](const OwnFunction& function, const store::OperatorUse& use) {
    return is_wrong(data, function, use);
  };
  for (const WrongBackward& found : wrong_backwards(data, wrong)) {
    const OwnFunction& function = found.function;
    const std::string backward_dtype(store::dtype_name(found.first->computed));
    const std::string forward_dtype(function.forward_low.empty() ? "float32"
                                                                 : store::dtype_name(*function.forward_low.begin()));
    Finding& finding = inquiry.add(found.first->stack);
    finding.title = "the backward of " + function.name + " computes in " + backward_dtype +
                    ", its forward computed in " + forward_dtype;
    finding.deep_only = true;
    finding.evidence_number = {{"operators_in_another_dtype", found.times}};
    finding.evidence_text = {{"autograd_function", function.name},
                             {"forward_computed_in", forward_dtype},
                             {"backward_computed_in", backward_dtype},
                             {"operator_names", absl::StrJoin(found.operators, ", ")}};
    add_related(finding, data, function.forward_stack);
    add_related(finding, data, enabled_region(data, *found.first)->stack);
    const std::string device(store::device_name(found.first->device));
    finding.fix =
        "Call backward outside autocast regions, and decorate both methods (@torch.amp.custom_fwd(device_type=\"" +
        device + "\"), @torch.amp.custom_bwd(device_type=\"" + device +
        "\")), so that backward runs under the autocast state of its forward, in " + forward_dtype + ".";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "autograd-fn-wrong-dtype",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "the backward of a custom autograd Function is cast to another dtype than its forward",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what = "Autocast was on while the backward of a custom torch.autograd.Function ran, and cast to another "
                 "dtype than in forward: float16 instead of bfloat16, or low precision where forward had float32.",
         .why =
             "What a custom backward calls is cast by the region that is open when it runs. Unless custom_bwd brings "
             "the state of forward back, that is the region around .backward(), whichever it is. Gradients that "
             "bfloat16 can hold overflow or vanish in float16.",
         .example = R"(import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).float()

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad

x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = Product.apply(x, w)
with torch.autocast("cpu", dtype=torch.float16):
    y.sum().backward())",
         .fix = "Call `.backward()` after the region, not in one, and decorate the Function's methods with "
                "`@torch.amp.custom_fwd(device_type=…)` and `@torch.amp.custom_bwd(device_type=…)`. Backward then "
                "computes in the dtype of forward.",
         .fixed_example = R"(import torch

class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).float()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad

x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = Product.apply(x, w)
y.sum().backward())",
         .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html"
                  "#autocast-and-custom-autograd-functions"},
    .judge = judge_backward_dtypes,
};

}  // namespace castscope::rules::autograd_fn_wrong_dtype
