// gpu-casts-dominate: casts take a large part of what the GPU does in a step.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/gpu/cast_lines.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::gpu_casts_dominate {
namespace {

// A conversion reads 4 bytes and writes 2 for each number, and computes nothing: a training step of a model that keeps
// Tensor Cores busy spends some 2 to 10 % of its device time on conversions. More than a fifth is seldom needed.
//
// A short job proves little: 2 ms are 300 launches of some 7 µs. Steps that were not timed count like those that were.
constexpr Threshold kThresholds[] = {
    {"share", 0.2, "of the device time of timed steps that casts take; less is what autocast costs"},
    {"ns", 2e6, "that casts take in the whole run, as the timed steps have it; less is hardly worth a change"},
    {"launches", 300, "of casts in the whole run: so many count where their time is less"}};

constexpr std::size_t kTold = 3;

// Returns how many steps of the job stand for each timed one.
double steps_to_each(const store::RunData& data, const DeviceTime& time) {
  StepTime all;
  for (const auto& [process, steps] : step_times(data))
    if (data.processes[process].gauges.gpu_steps > 0) all += steps;
  return std::max(1.0, static_cast<double>(all.passes) / static_cast<double>(time.steps));
}

void judge_share(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const DeviceTime time = device_time(data);
  if (time.steps == 0 || time.cast_share() < inquiry.threshold("share")) return;
  const double whole = steps_to_each(data, time);
  if (whole * static_cast<double>(time.casts.ns) < inquiry.threshold("ns") &&
      whole * static_cast<double>(time.casts.launches) < inquiry.threshold("launches"))
    return;
  const std::vector<CastLine> lines = cast_lines(data, time);
  if (lines.empty()) return;
  const CastLine& here = first_placed(lines);
  const store::Site& worst = data.sites[here.site];
  const auto percent = whole_percent(time.cast_share());
  Finding& finding = inquiry.add(worst.stack);
  finding.title = "casts take " + std::to_string(percent) + " % of the GPU's time, those here " +
                  std::to_string(whole_percent(time.share_of_all(here.work.ns))) + " %";
  finding.evidence_number = {{"cast_share_percent", percent},
                             {"cast_gpu_ns", time.casts.ns},
                             {"gpu_ns", time.all.ns},
                             {"cast_launches", time.casts.launches},
                             {"gpu_steps", time.steps}};
  const std::span<const CastLine> costliest = std::span(lines).first(std::min(lines.size(), kTold));
  const auto told = [&](std::string* text, const CastLine& line) { *text += text_of(data, line); };
  finding.evidence_text = {{"costliest_casts", absl::StrJoin(costliest, "; ", told)}};
  for (const CastLine& line : costliest)
    if (&line != &here) add_related(finding, data, data.sites[line.site].stack);
  finding.deep_only = true;
  finding.savings.emplace();
  finding.savings->ns_per_step = static_cast<double>(here.work.ns) / static_cast<double>(time.steps);
  finding.fix = advice_for(worst);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "gpu-casts-dominate",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "casts take a large part of the GPU's time",
    .thresholds = kThresholds,
    .sees = kEvents | kDevice,
    .explanation = {.what = "Of what the GPU did in the timed steps, kernels that only convert dtypes took more than "
                            "a fifth. The finding stands at the line whose casts cost most, and names the next ones.",
                    .why = "A conversion is memory traffic without any computing. Where it costs as much as it saves, "
                           "mixed precision makes nothing faster.",
                    .example = R"(# Needs a GPU.
import torch

layers = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda().requires_grad_(False)
for _ in range(20):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        layers(torch.randn(1, 4096, device="cuda"))  # each weight is cast for a single row)",
                    .fix = "Convert frozen weights once (`module.to(torch.bfloat16)`); enter the region once around "
                           "all that uses a weight; keep what flows between operators in one dtype; compile the model.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#torch.autocast"},
    .judge = judge_share,
};

}  // namespace castscope::rules::gpu_casts_dominate
