// tensor-cores-unused: a matrix product in low precision, or in TF32, is not aligned to the 16 bytes that Tensor Cores
// are fed at a time: its sizes, or the addresses of its matrices, keep it off Tensor Cores or make it slow on them.
#include <algorithm>
#include <string>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/products.h"
#include "server/rules/gpu/product_lines.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::tensor_cores_unused {
namespace {

// A vocabulary of 50257 instead of 50304 makes a product take two to four times as long, so at least half of its time
// could be saved: a hundredth of all time.
//
// Padding a dimension to a multiple of 8 helps only where the dimension is larger than that: a vector's product waits
// for memory.
constexpr Threshold kThresholds[] = {
    {"share", 0.02, "of the device time of timed steps that the product takes; less is hardly worth a change"},
    {"size", 16, "of the smallest dimension; a product with less waits for memory, whatever its alignment"}};

// Returns "m is 50257, no multiple of 8" or "B begins at a multiple of 2 bytes".
std::string what_is_wrong(const Misaligned& one) {
  if (one.by_size())
    return std::string(1, one.matrix) + "'s columns are " + std::to_string(one.ld) + " apart (" +
           std::string(1, one.dimension) + " = " + std::to_string(one.size) + "), no multiple of " +
           std::to_string(one.multiple);
  return std::string(1, one.matrix) + " begins at a multiple of " + std::to_string(one.bytes) + " bytes, not of 16";
}

std::string fix_for(const Misaligned& one) {
  if (!one.by_size())
    return "Let its inputs begin at a multiple of 16 bytes: a slice that begins elsewhere can be made a tensor of its "
           "own (.contiguous()).";
  return "Pad the dimension of " + std::to_string(one.size) + " to " + std::to_string(one.padded()) +
         ", a multiple of " + std::to_string(one.multiple) +
         " (of 64 is best): a larger vocabulary, channels or features that nobody uses, a longer sequence that is "
         "masked.";
}

void add_finding(Inquiry& inquiry, const DeviceTime& time, const ProductLine& product) {
  const store::MatmulCall& call = product.matmul->call;
  const store::OperatorUse& use = inquiry.data.operator_uses[product.matmul->use];
  const std::vector<Misaligned> all = misaligned(call);
  // A size that is not aligned is reported first: padding it corrects the addresses as well.
  const Misaligned* worst = &all.front();
  for (const Misaligned& one : all)
    if (one.by_size() && !worst->by_size()) worst = &one;
  Finding& finding = inquiry.add(use.stack);
  finding.title = (worst->by_size() ? "sizes that are not a multiple of " + std::to_string(worst->multiple)
                                    : std::string("matrices that do not begin at a multiple of 16 bytes")) +
                  " keep " + short_name(use.op) +
                  " off Tensor Cores, or slow on them: " + part_of_time(time, product.ns);
  finding.evidence_number = product_numbers(time, product.ns, product.times);
  finding.evidence_text = {
      {"operator", use.op},
      {"matmul_sizes", sizes_of(call)},
      {"product_precision", computed_in(call)},
      {"misaligned_matrices",
       absl::StrJoin(all, "; ", [](std::string* text, const Misaligned& one) { *text += what_is_wrong(one); })}};
  finding.deep_only = true;
  finding.fix = fix_for(*worst);
}

void judge_alignment(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const DeviceTime time = device_time(data);
  if (!time.timed()) return;
  const auto is_asked = [&](const store::Matmul& matmul) {
    const store::MatmulCall& call = matmul.call;
    const store::OperatorUse& use = data.operator_uses[matmul.use];
    // Products of backward have the sizes of those of forward, whose dimensions the code can pad.
    if (use.stack == 0 || use.phase == lanes::Phase::kBackward) return false;
    return std::min({call.m, call.n, call.k}) >= inquiry.threshold("size") && !misaligned(call).empty();
  };
  for (const ProductLine& line : product_lines(data, time, inquiry.threshold("share"), is_asked))
    add_finding(inquiry, time, line);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "tensor-cores-unused",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "sizes or alignment keep a matrix product off Tensor Cores, or slow on them",
    .thresholds = kThresholds,
    .sees = kOperators | kDevice,
    .explanation = {.what = "cuBLAS was asked for a product in float16, bfloat16 or TF32 whose matrices are not "
                            "aligned to 16 bytes: a dimension is not a multiple of 8 (TF32: of 4), or a matrix begins "
                            "in between.",
                    .why = "Tensor Cores are fed 16 bytes at a time. Kernels for other alignments load piece by piece, "
                           "or compute without Tensor Cores.",
                    .example = R"(# Needs a GPU.
import torch

head = torch.nn.Linear(768, 50257).cuda()  # a vocabulary that is not a multiple of 8
with torch.autocast("cuda", dtype=torch.bfloat16):
    head(torch.randn(4096, 768, device="cuda")))",
                    .fix = "Pad the dimension to a multiple of 8, or better of 64 (50257 to 50304).",
                    .links = "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/"},
    .judge = judge_alignment,
};

}  // namespace castscope::rules::tensor_cores_unused
