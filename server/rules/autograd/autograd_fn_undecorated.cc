// autograd-fn-undecorated: autocast cast down the arguments that the forward of the job's own autograd Function
// computed with, and its backward computed in float32, outside autocast: the region had ended, and nothing brought it
// back (custom_fwd and custom_bwd do). Where such a backward mixes both dtypes, it fails.
//
// Not a finding: a backward that itself converts everything it computes with to float32, and code that backward
// recomputes with a graph of its own (checkpoint-recompute-differs).
#include "absl/strings/str_join.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/own_functions.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::autograd_fn_undecorated {
namespace {

void judge_undecorated_functions(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto in_float = [&](const OwnFunction& function, const store::OperatorUse& use) {
    return !function.forward_low.empty() && use.computed == kFloat && !in_autocast(data, use);
  };
  for (const WrongBackward& found : wrong_backwards(data, in_float)) {
    const OwnFunction& function = found.function;
    // A Function that is used outside regions too rightly computes in float32 there.
    if (found.fewest <= function.forward_float) continue;
    const std::string low(store::dtype_name(*function.forward_low.begin()));
    Finding& finding = inquiry.add(found.first->stack);
    finding.title = "the backward of " + function.name + " computes in float32, outside autocast, what belongs to a " +
                    low + " forward";
    finding.deep_only = true;
    finding.evidence_number = {{"operators_in_float32", found.times}};
    finding.evidence_text = {{"autograd_function", function.name},
                             {"forward_computed_in", low},
                             {"backward_computed_in", "float32"},
                             {"operator_names", absl::StrJoin(found.operators, ", ")}};
    add_related(finding, data, function.forward_stack);
    const std::string device(store::device_name(found.first->device));
    finding.fix =
        "Decorate both methods, so that backward runs under the autocast state of its forward: "
        "@torch.amp.custom_fwd(device_type=\"" +
        device +
        "\") on forward and "
        "@torch.amp.custom_bwd(device_type=\"" +
        device + "\") on backward, each below @staticmethod. Backward then computes in " + low + ", too.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "autograd-fn-undecorated",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "the backward of a custom autograd Function runs outside autocast, its forward ran inside",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what =
             "A custom torch.autograd.Function ran its forward in an autocast region, which cast its arguments down. "
             "Its backward ran after the region had ended, and computed in float32.",
         .why = "Backward runs when .backward() is called, outside the region. The backward of PyTorch's own operators "
                "takes the dtype of their forward; what a custom backward calls is cast only while autocast is on. So "
                "gradients are computed in another precision than the values they belong to, at float32's "
                "cost, and where a low-precision gradient meets a float32 tensor, backward fails.",
         .example = R"(import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        grad = grad.to(w.dtype)
        return grad @ w.t(), x.t() @ grad

x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = Product.apply(x, w)
y.sum().backward())",
         .fix = "`@torch.amp.custom_fwd(device_type=…)` on forward and `@torch.amp.custom_bwd(device_type=…)` on "
                "backward: then backward runs with the autocast state that forward had, in the same dtype. With "
                "`custom_fwd(cast_inputs=torch.float32)` both run in float32, if that is what is meant.",
         .fixed_example = R"(import torch

class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        grad = grad.to(w.dtype)
        return grad @ w.t(), x.t() @ grad

x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = Product.apply(x, w)
y.sum().backward())",
         .links = "https://docs.pytorch.org/docs/stable/notes/amp_examples.html"
                  "#autocast-and-custom-autograd-functions"},
    .judge = judge_undecorated_functions,
};

}  // namespace castscope::rules::autograd_fn_undecorated
