// compile-backward-autocast: compiled code was called in a region and its backward outside of it. Eager autograd runs
// backward without autocast then; torch.compile traces it under the autocast of the forward pass
// (torch._functorch.config.backward_pass_autocast, "same_as_forward").
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::compile_backward_autocast {
namespace {

void judge_backward_casts(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kCompileCastsBackward)) {
    Finding& finding = inquiry.add(facts.first().stack);
    const auto to = static_cast<std::uint8_t>(facts.first().detail);
    const std::string op(short_name(facts.first().text));
    finding.title = op + " in the compiled backward pass of this line is cast to " +
                    std::string(store::dtype_name(to)) + "; eager code does not cast there";
    finding.evidence_number = {{"casts", facts.times}};
    finding.evidence_text = {{"operator", op}, {"to_dtype", std::string(store::dtype_name(to))}};
    finding.fix =
        "Set torch._functorch.config.backward_pass_autocast = \"off\" before the code is compiled, or call "
        "backward in the same region everywhere.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "compile-backward-autocast",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "torch.compile runs backward under autocast where eager code does not",
    .thresholds = {},
    .explanation = {.what = "Compiled code is called within a region, backward is called outside of it, and the "
                            "backward graph has casts that autocast made.",
                    .why = "Eager autograd computes each gradient in the dtypes that the forward pass left. "
                           "torch.compile traces the backward pass under the autocast of the forward pass: what was "
                           "kept in float32 on purpose, such as the inside of autocast(enabled=False) or a custom "
                           "Function's backward, is computed in low precision, and gradients differ.",
                    .example = R"(import torch

@torch.compile(backend="aot_eager")
def loss(x, w):
    with torch.autocast("cpu", enabled=False):
        return (x.float() @ w).square().mean()

x, w = torch.randn(8, 8), torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    result = loss(x, w)
result.backward()  # in bfloat16; eager code: in float32)",
                    .fix = "torch._functorch.config.backward_pass_autocast = \"off\" makes the compiled backward pass "
                           "do as eager autograd does.",
                    .fixed_example = R"(import torch

torch._functorch.config.backward_pass_autocast = "off"

@torch.compile(backend="aot_eager")
def loss(x, w):
    with torch.autocast("cpu", enabled=False):
        return (x.float() @ w).square().mean()

x, w = torch.randn(8, 8), torch.randn(8, 8, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    result = loss(x, w)
result.backward()  # in float32)",
                    .links = "https://docs.pytorch.org/docs/stable/torch.compiler.html"},
    .judge = judge_backward_casts,
};

}  // namespace castscope::rules::compile_backward_autocast
