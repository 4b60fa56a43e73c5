// matmul-full-precision: in a region of low precision a matrix product computed in true float32, without Tensor Cores,
// and the GPU spent time on it.
#include <string>

#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/products.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/gpu/product_lines.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::matmul_full_precision {
namespace {

// In true float32 a product takes 8 to 16 times as long as on Tensor Cores, so nearly all of its time could be saved.
// Nobody would notice the gain where the product takes less than a hundredth of the time.
constexpr Threshold kThresholds[] = {
    {"share", 0.01, "of the device time of timed steps that the product takes; less is hardly worth a change"}};

std::string why(const store::RunData& data, const store::OperatorUse& use) {
  const std::string op = short_name(use.op);
  if (use.is(lanes::kUseSiblingEligible))
    return "autocast has no kernel for this form of " + op + ", which writes into a given tensor";
  if (use.is(lanes::kUseEligible)) return "autocast's policy runs " + op + " in float32";
  if (use.is(lanes::kUseElsewhere)) return "autocast knows " + op + " on other devices only";
  const store::Region* const region = enabled_region(data, use);
  return "autocast of " + std::string(store::device_name(region->device)) + " does not know " + op;
}

std::string fix_for(const store::OperatorUse& use, const std::string& low) {
  if (use.is(lanes::kUseSiblingEligible))
    return "Call the form that gives back a new tensor, which autocast runs in " + low + ".";
  const std::string convert = use.is(lanes::kUseEligible)
                                  ? "call it with autocast off (torch.autocast(\"cuda\", enabled=False)) and inputs in "
                                  : "convert its inputs to ";
  return "Where " + low + " is precise enough and " + short_name(use.op) + " takes it, " + convert + low +
         "; where float32 is meant, let it round to TF32 (torch.set_float32_matmul_precision(\"high\")).";
}

void add_finding(Inquiry& inquiry, const DeviceTime& time, const ProductLine& product) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& use = data.operator_uses[product.matmul->use];
  const std::string op = short_name(use.op), low(store::dtype_name(enabled_region(data, use)->dtype));
  Finding& finding = inquiry.add(use.stack);
  finding.title = op + " computes in true float32 in a region of " + low +
                  ", without Tensor Cores: " + part_of_time(time, product.ns);
  finding.evidence_number = product_numbers(time, product.ns, product.times);
  finding.evidence_text = {
      {"operator", use.op}, {"matmul_sizes", sizes_of(product.matmul->call)}, {"why_full_precision", why(data, use)}};
  finding.deep_only = true;
  finding.fix = fix_for(use, low);
}

void judge_products(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const DeviceTime time = device_time(data);
  if (!time.timed()) return;
  const auto is_asked = [&](const store::Matmul& matmul) {
    if (!is_true_fp32(matmul.call)) return false;
    const store::Region* const region = enabled_region(data, data.operator_uses[matmul.use]);
    return region != nullptr && is_low(region->dtype);
  };
  for (const ProductLine& line : product_lines(data, time, inquiry.threshold("share"), is_asked))
    add_finding(inquiry, time, line);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "matmul-full-precision",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "a matrix product computes in true float32 though autocast is on",
    .thresholds = kThresholds,
    .sees = kOperators | kDevice,
    .explanation = {.what = "In an autocast region cuBLAS was asked for a product of float32 matrices, computed in "
                            "float32: autocast did not cast its inputs, and TF32 is off.",
                    .why = "No Tensor Core computes that. The same product in bfloat16 takes a tenth of the time, in "
                           "TF32 a fifth.",
                    .example = R"(# Needs a GPU.
import torch

a, out = torch.randn(2048, 2048, device="cuda"), torch.empty(2048, 2048, device="cuda")
with torch.autocast("cuda", dtype=torch.bfloat16):
    torch.mm(a, a, out=out)  # autocast has no kernel for out=)",
                    .fix = "Call the form that gives back a new tensor, convert the inputs, or allow TF32.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#op-eligibility"},
    .judge = judge_products,
};

}  // namespace castscope::rules::matmul_full_precision
