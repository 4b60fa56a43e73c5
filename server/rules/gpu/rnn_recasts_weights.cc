// rnn-recasts-weights: autocast's kernel for cuDNN's RNN casts all weights into one buffer at every call. There is no
// cache: a step that calls it several times, or a process that trains nothing, pays for the same copies again.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/counts/device_time.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/operators.h"
#include "server/rules/evidence/operators/uses.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::rnn_recasts_weights {
namespace {

// A copy of 1 MB takes less than its launch.
constexpr Threshold kThresholds[] = {
    {"calls", 2, "of the RNN in a step whose weights are trained; a single one needs the copy"},
    {"bytes", 1e6, "that all these casts wrote; less is not worth a change"}};

constexpr std::string_view kNetworks[] = {"_cudnn_rnn", "lstm", "gru", "rnn_tanh", "rnn_relu"};

struct Casting {
  store::SiteId site = {};  // the site that cast most
  std::uint64_t most = 0, casts = 0, bytes = 0, cpu_ns = 0, gpu_ns = 0;
  bool same = false;  // the weights do not change
};

// Returns how often a step calls the RNN at this line, as deep steps saw it; 0 = they did not see it. A call without a
// state, or with another kind of sequence, is a use of its own; aten::lstm calls _cudnn_rnn, and that is one call.
double calls_in_step(const store::RunData& data, const store::Table<std::uint64_t, store::OperatorUse>& times,
                     const Line& line) {
  struct Calls {
    std::uint64_t times = 0;
    std::set<store::OperatorUseId> uses;
  };
  std::map<std::string, Calls> by_operator;
  for (const store::OperatorUse& use : data.operator_uses) {
    const std::string network(base_name(short_name(use.op)));
    if (!is_forward(use) || !is_one_of(network, kNetworks)) continue;
    if (line_of(data, use.stack) != line) continue;
    Calls& calls = by_operator[network];
    calls.times += times[use.id];
    calls.uses.insert(use.id);
  }
  double most = 0;
  for (const auto& [network, calls] : by_operator)
    if (const std::uint64_t steps = deep_steps(data, calls.uses); steps > 0)
      most = std::max(most, static_cast<double>(calls.times) / static_cast<double>(steps));
  return most;
}

std::map<Line, Casting> castings(const store::RunData& data) {
  const DeviceTime time = device_time(data);
  const std::set<store::ProcessId> train = processes_that_train(data);
  std::map<Line, Casting> lines;
  std::set<store::SiteId> sites;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.cause != lanes::Cause::kReflatten || use.counts.casts == 0 || (site.flags & lanes::kSiteTracing) != 0)
      continue;
    Casting& casting = lines[line_of(data, site.stack)];
    if (use.counts.casts > casting.most) casting.site = site.id, casting.most = use.counts.casts;
    casting.casts += use.counts.casts;
    casting.bytes += use.counts.bytes;
    casting.cpu_ns += use.counts.cpu_ns;
    casting.same |= !train.contains(use.process);
    if (sites.insert(site.id).second) casting.gpu_ns += time.sites[site.id].ns;
  }
  return lines;
}

void judge_rnns(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  const auto times = times_of_uses(data);
  for (const auto& [line, casting] : castings(data)) {
    const double calls = calls_in_step(data, times, line);
    if (casting.most < 2 || static_cast<double>(casting.bytes) < inquiry.threshold("bytes")) continue;
    if (!casting.same && calls < inquiry.threshold("calls")) continue;
    const store::Site& site = data.sites[casting.site];
    Finding& finding = inquiry.add(site.stack);
    finding.title = "cuDNN's RNN has its weights cast again at every call";
    finding.evidence_number = {{"casts", casting.casts}, {"bytes", casting.bytes}, {"cpu_ns", casting.cpu_ns}};
    if (casting.gpu_ns > 0) finding.evidence_number.emplace_back("gpu_ns", casting.gpu_ns);
    if (calls >= 1) finding.evidence_number.emplace_back("calls_per_step", static_cast<std::int64_t>(calls));
    finding.evidence_text = {{"to_dtype", std::string(store::dtype_name(site.to))}};
    // The kernel casts to float16 whatever the region's dtype is, but the code means the region's dtype.
    const store::Region* const region = enabled_region(data, site.region, site.device);
    const std::string low(store::dtype_name(region == nullptr ? site.to : region->dtype));
    finding.fix = casting.same
                      ? "Convert the RNN once, before the loop (rnn.to(torch." + low +
                            "), with inputs of that dtype), and call it outside the region: nothing is cast then."
                      : "Call the RNN once with the whole sequence instead of step by step; or hold it in " + low +
                            " and call it outside the region, with float32 master weights in the optimizer.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "rnn-recasts-weights",
    .severity = "performance",
    .harm = Harm::kTime,
    .summary = "cuDNN's RNN has the same weights cast again at every call",
    .thresholds = kThresholds,
    .sees = kOperators,
    .explanation = {.what = "An LSTM, GRU or RNN on a GPU is called several times with the same weights in autocast "
                            "regions.",
                    .why = "Autocast's kernel for cuDNN's RNN copies all weights, in low precision, into one buffer "
                           "at every call, and the autocast cache has no part in it.",
                    .example = R"(# Needs a GPU.
import torch

rnn = torch.nn.LSTM(1024, 1024).cuda().eval()
state = None
with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
    for _ in range(20):
        x, state = rnn(torch.randn(1, 8, 1024, device="cuda"), state))",
                    .fix = "Convert the RNN once and call it outside the region, or give it the whole sequence.",
                    .links = "https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html"},
    .judge = judge_rnns,
};

}  // namespace castscope::rules::rnn_recasts_weights
