// matmul-full-precision: in a region of low precision a matrix product computed in true float32, without Tensor Cores,
// and the GPU spent time on it.
#include <map>
#include <string>

#include "server/rules/dtypes.h"
#include "server/rules/gpu/cast_lines.h"
#include "server/rules/gpu/device_time.h"
#include "server/rules/gpu/products.h"
#include "server/rules/operators.h"
#include "server/rules/places.h"
#include "server/rules/regions.h"
#include "server/rules/rules.h"
#include "server/rules/uses.h"
#include "server/store/names.h"

namespace castscope::rules {
namespace {

// In true float32 a product takes 8 to 16 times as long as on Tensor Cores, so that of one with a hundredth of the time
// nearly all could be saved; of less nobody would notice.
constexpr Threshold kThresholds[] = {
    {"share", 0.01, "of the device time of timed steps that the product takes; less is hardly worth a change"}};

struct Product {
  std::uint32_t use = 0;  // the costliest
  std::uint64_t use_ns = 0, ns = 0, times = 0;
  std::string sizes;
};

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
  return "Where " + low + " is precise enough, " + convert + low +
         "; where float32 is meant, let it round to TF32 (torch.set_float32_matmul_precision(\"high\")).";
}

void tell(Inquiry& inquiry, const DeviceTime& time, const Product& product) {
  const store::RunData& data = inquiry.data;
  const store::OperatorUse& use = data.operator_use(product.use);
  const std::string op = short_name(use.op), low(store::dtype_name(enabled_region(data, use)->dtype));
  const double share = time.share_of_all(product.ns);
  Finding& finding = inquiry.add(use.stack);
  finding.title = op + " computes in true float32 in a region of " + low + ", without Tensor Cores";
  finding.evidence_number = {{"device_ns", product.ns},
                             {"share_percent", static_cast<std::int64_t>(100 * share)},
                             {"products", product.times},
                             {"timed_steps", time.steps}};
  finding.evidence_text = {{"operator", use.op}, {"sizes", product.sizes}, {"why", why(data, use)}};
  finding.deep_only = true;
  finding.fix = fix_for(use, low);
}

void judge_products(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const DeviceTime time = device_time(data);
  if (!time.timed()) return;
  const std::vector<std::uint64_t> times = times_of_matmuls(data);
  std::map<std::uint32_t, Product> uses;
  for (const store::Matmul& matmul : data.matmuls) {
    if (matmul.use == 0 || times[matmul.id - 1] == 0 || !is_true_fp32(matmul.call)) continue;
    const store::Region* const region = enabled_region(data, data.operator_use(matmul.use));
    if (region == nullptr || !is_low(region->dtype)) continue;
    Product& product = uses[matmul.use];
    product.times += times[matmul.id - 1];
    if (product.sizes.empty()) product.sizes = sizes_of(matmul.call);
  }
  std::map<Line, Product> lines;
  for (const auto& [use, product] : uses) {
    const std::uint64_t ns = time.own_ns(use);
    Product& at = lines[line_of(data, data.operator_use(use).stack)];
    at.ns += ns;
    at.times += product.times;
    if (at.use == 0 || ns > at.use_ns) at.use = use, at.use_ns = ns, at.sizes = product.sizes;
  }
  for (const auto& [line, product] : lines)
    if (product.ns > 0 && time.share_of_all(product.ns) >= inquiry.threshold("share")) tell(inquiry, time, product);
}

}  // namespace

extern const Rule matmul_full_precision;
const Rule matmul_full_precision = {
    .name = "matmul-full-precision",
    .severity = "performance",
    .summary = "a matrix product computes in true float32 though autocast is on",
    .thresholds = kThresholds,
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

}  // namespace castscope::rules
