// launch-bound-casts: most kernels of a step are casts so small that launching them takes longer than they do.
#include <algorithm>
#include <utility>
#include <vector>

#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/places/sites.h"
#include "server/rules/gpu/cast_lines.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::launch_bound_casts {
namespace {

// PyTorch takes some 5 µs of CPU time to launch a kernel: while it launches shorter kernels, the GPU waits for it. A
// GPU that works for four fifths of a step waits for little.
constexpr Threshold kThresholds[] = {
    {"ns", 5000, "of the median cast on the device; a longer one takes more than its launch"},
    {"share", 0.5, "of all launches in timed steps that are casts; fewer are not what the launches are about"},
    {"launches_per_step", 100, "of casts; fewer take less than half a millisecond to launch"},
    {"busy", 0.8, "of a step's time that the GPU works; more, and it does not wait for launches"}};

// Each launch of a kernel counts with that kernel's mean, as single launches are not kept.
double median_ns(const store::RunData& data, const DeviceTime& time) {
  std::vector<std::pair<double, std::uint64_t>> means;
  for (const store::Kernel& kernel : data.kernels) {
    const DeviceWork& work = time.kernels[kernel.id];
    if (kernel.site != 0 && work.launches > 0)
      means.emplace_back(static_cast<double>(work.ns) / static_cast<double>(work.launches), work.launches);
  }
  std::sort(means.begin(), means.end());
  std::uint64_t before = 0;
  for (const auto& [ns, launches] : means) {
    before += launches;
    if (2 * before >= time.casts.launches) return ns;
  }
  return 0;
}

// Returns the share of a step's time in which the GPU works; 0 = not known.
double busy_share(const store::RunData& data, const DeviceTime& time) {
  StepTime all;
  for (const auto& [process, steps] : step_times(data)) all += steps;
  if (all.passes == 0 || all.ns <= 0) return 0;
  return static_cast<double>(time.all.ns) / static_cast<double>(time.steps) /
         (all.ns / static_cast<double>(all.passes));
}

void judge_launches(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const DeviceTime time = device_time(data);
  if (time.steps == 0 || time.casts.launches == 0) return;
  const auto launches = static_cast<double>(time.casts.launches);
  const double share = launches / static_cast<double>(time.all.launches);
  const double per_step = launches / static_cast<double>(time.steps);
  const double median = median_ns(data, time);
  if (share < inquiry.threshold("share") || per_step < inquiry.threshold("launches_per_step")) return;
  if (median >= inquiry.threshold("ns") || busy_share(data, time) > inquiry.threshold("busy")) return;
  std::vector<CastLine> lines = cast_lines(data, time);
  if (lines.empty()) return;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const CastLine& a, const CastLine& b) { return a.work.launches > b.work.launches; });
  const CastLine& here = first_placed(lines);
  const store::Site& most = data.sites[here.site];
  Finding& finding = inquiry.add(most.stack);
  finding.title = "most kernels of a step are casts that take less time than their launch";
  finding.evidence_number = {{"cast_launches_per_step", static_cast<std::int64_t>(per_step)},
                             {"median_gpu_ns", static_cast<std::int64_t>(median)},
                             {"cast_launch_share_percent", whole_percent(share)},
                             {"cast_launches_here", here.work.launches},
                             {"gpu_steps", time.steps}};
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 3); ++i)
    if (&lines[i] != &here) add_related(finding, data, data.sites[lines[i].site].stack);
  finding.deep_only = true;
  finding.fix =
      "Launch fewer kernels: compile the model (torch.compile fuses casts into their neighbours), capture the step in "
      "a "
      "CUDA graph, or give each step more rows.";
  if (is_of_model(most)) finding.fix += " " + advice_for(most);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "launch-bound-casts",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "most kernels of a step are casts too small for their launch",
    .thresholds = kThresholds,
    .sees = kDevice,
    .explanation = {.what = "More than half of the kernels of a step are casts, and the median cast takes less time "
                            "on the GPU than it takes to launch it.",
                    .why = "The GPU waits for the CPU, which is busy launching casts: in a small model autocast may "
                           "make a step slower than float32.",
                    .example = R"(# Needs a GPU.
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(100)]).cuda()
state = torch.randn(8, 64, device="cuda")
for _ in range(20):
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        model(state)  # two casts for each product)",
                    .fix = "`torch.compile`, CUDA graphs, larger batches, or weights that are kept in low precision.",
                    .links = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs"},
    .judge = judge_launches,
};

}  // namespace castscope::rules::launch_bound_casts
