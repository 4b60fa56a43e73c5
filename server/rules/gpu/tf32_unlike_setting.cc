// tf32-unlike-setting: products of float32 outside autocast take much of the GPU's time in true float32, because TF32
// is off; or they were rounded to TF32 though the settings ask for float32.
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/products.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/gpu/product_lines.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::tf32_unlike_setting {
namespace {

// In TF32 on Tensor Cores a product takes an eighth of the time; where all of them together take a tenth of the time, a
// step would be 8 % shorter.
constexpr Threshold kThresholds[] = {
    {"share", 0.1, "of the device time of timed steps that products in true float32 outside autocast take"}};

// The first number of "0 NVIDIA A100, compute capability 8.0": 8 is the first with TF32.
constexpr int kFirstWithTf32 = 8;
constexpr std::string_view kCapability = "compute capability ";

enum class Tf32 { kNotKnown, kOff, kOn };

Tf32 meaning_of(const std::string& settings) {
  const std::string allowed = math_setting(settings, "allow_tf32");
  const std::string precision = math_setting(settings, "float32_matmul_precision");
  if (allowed == "1" || allowed == "True" || precision == "high" || precision == "medium") return Tf32::kOn;
  if (allowed == "0" || allowed == "False" || precision == "highest") return Tf32::kOff;
  return Tf32::kNotKnown;
}

// Returns what the process's settings say, if they said the same all the time.
Tf32 setting_of(const store::Process& process) {
  std::optional<Tf32> said;
  for (const auto& [name, value] : process.attributes) {
    if (name != "gpu_math") continue;
    const Tf32 meaning = meaning_of(value);
    if (said && *said != meaning) return Tf32::kNotKnown;
    said = meaning;
  }
  return said.value_or(Tf32::kNotKnown);
}

bool has_tf32(const store::Process& process) {
  const std::string gpu = process.attribute("gpu_device");
  const std::size_t at = gpu.find(kCapability);
  int major = 0;
  if (at != std::string::npos) std::from_chars(gpu.data() + at + kCapability.size(), gpu.data() + gpu.size(), major);
  return major >= kFirstWithTf32;
}

struct Products {
  std::map<store::OperatorUseId, std::uint64_t> times;  // by use
  std::uint64_t ns = 0, all = 0;
  store::OperatorUseId costliest = {};  // the costliest use that a line of code called
  void sum_up_uses(const store::RunData& data, const DeviceTime& time) {
    for (const auto& [use, count] : times) {
      ns += time.own_ns(use);
      all += count;
      if (data.operator_uses[use].stack == 0) continue;
      if (costliest == 0 || time.own_ns(use) > time.own_ns(costliest)) costliest = use;
    }
  }
};

Finding& add_finding(Inquiry& inquiry, const DeviceTime& time, const Products& products,
                     const store::Process& process) {
  const store::OperatorUse& use = inquiry.data.operator_uses[products.costliest];
  Finding& finding = inquiry.add(use.stack);
  finding.evidence_number = product_numbers(time, products.ns, products.all);
  finding.evidence_text = {{"operator", use.op}, {"gpu_math", process.attribute("gpu_math")}};
  finding.deep_only = true;
  return finding;
}

void judge_settings(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const DeviceTime time = device_time(data);
  if (!time.timed()) return;
  Products slow, rounded;
  const store::Process *slow_in = nullptr, *rounded_in = nullptr;
  for (const store::MatmulCount& count : data.matmul_counts) {
    const store::Matmul& matmul = data.matmuls[count.matmul];
    if (matmul.use == 0 || count.times == 0) continue;
    const store::Process& process = data.processes[count.process];
    const bool off = setting_of(process) == Tf32::kOff;
    if (off && is_true_fp32(matmul.call) && has_tf32(process) && !in_autocast(data, data.operator_uses[matmul.use]))
      slow.times[matmul.use] += count.times, slow_in = &process;
    if (off && matmul.call.compute == lanes::MatmulCompute::kTf32)
      rounded.times[matmul.use] += count.times, rounded_in = &process;
  }
  slow.sum_up_uses(data, time);
  rounded.sum_up_uses(data, time);
  if (slow.costliest != 0 && time.share_of_all(slow.ns) >= inquiry.threshold("share")) {
    // Code that switches autocast off inside a region wants float32, if perhaps not all of its bits.
    const bool switched_off = region_of_device(data, data.operator_uses[slow.costliest]) != nullptr;
    Finding& finding = add_finding(inquiry, time, slow, *slow_in);
    finding.title = std::string("products of float32 ") + (switched_off ? "with autocast off" : "outside autocast") +
                    " run without Tensor Cores, since TF32 is off: " + part_of_time(time, slow.ns);
    finding.fix =
        std::string(
            "Allow TF32 where 10 bits of mantissa are enough (torch.set_float32_matmul_precision(\"high\")), ") +
        (switched_off ? "or leave it where all of float32 is meant." : "or let autocast cover this code.");
  }
  if (rounded.costliest != 0 && rounded.ns > 0) {
    Finding& finding = add_finding(inquiry, time, rounded, *rounded_in);
    finding.title = "products of float32 are rounded to TF32, though the settings ask for float32: " +
                    part_of_time(time, rounded.ns);
    finding.fix =
        "Look for what overrides PyTorch's setting (NVIDIA_TF32_OVERRIDE=1 in the environment, a library "
        "that sets the math mode of cuBLAS), or say that TF32 is meant "
        "(torch.set_float32_matmul_precision(\"high\")).";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "tf32-unlike-setting",
    .severity = "info",
    .summary = "TF32 is off where float32 products take time, or on against the settings",
    .thresholds = kThresholds,
    .sees = kOperators | kDevice,
    .explanation = {.what = "Products of float32 matrices outside autocast were computed in true float32 on a GPU "
                            "that has TF32, and took a tenth of its time or more; or they were rounded to TF32 though "
                            "`torch.backends.cuda.matmul.allow_tf32` is off.",
                    .why = "TF32 keeps 10 bits of the mantissa, as float16 does, and the range of float32, and runs on "
                           "Tensor Cores. It is off by default, so code that autocast does not cover runs slower than "
                           "it need, and results differ between machines where something else switches it on.",
                    .example = R"(# Needs a GPU.
import torch

torch.set_float32_matmul_precision("highest")
layer = torch.nn.Linear(4096, 4096).cuda()
for _ in range(20):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        x = layer(torch.randn(4096, 4096, device="cuda"))
    x.float() @ layer.weight  # outside of the region, in float32)",
                    .fix = "`torch.set_float32_matmul_precision(\"high\")`.",
                    .links = "https://docs.pytorch.org/docs/stable/notes/cuda.html"
                             "#tensorfloat-32-tf32-on-ampere-and-later-devices"},
    .judge = judge_settings,
};

}  // namespace castscope::rules::tf32_unlike_setting
