// rnn-computes-in-float16: autocast's kernel for cuDNN's RNN knows one dtype, float16, whatever the region's dtype is.
// So in a region of bfloat16 the RNN has float16's range, without the scaling of gradients that this needs.
#include <map>
#include <set>

#include "server/rules/evidence/counts/counts.h"
#include "server/rules/evidence/finding.h"
#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::rnn_computes_in_float16 {
namespace {

struct Casting {
  store::SiteId site = {};  // the site that cast most
  std::uint64_t most = 0, casts = 0, bytes = 0;
  bool trains = false;
};

// Returns the region of bfloat16 in which the weights of an RNN were cast to float16; nullptr where it is no such
// region.
const store::Region* brain_region(const store::RunData& data, const store::Site& site) {
  if (site.cause != lanes::Cause::kReflatten || site.to != kHalf) return nullptr;
  const store::Region* const region = enabled_region(data, site.region, site.device);
  return region != nullptr && region->dtype == kBrain ? region : nullptr;
}

// The casts of the weights show it, so nothing needs to be known of the GPU.
std::map<Line, Casting> castings(const store::RunData& data) {
  const std::set<store::ProcessId> train = processes_that_train(data);
  std::map<Line, Casting> lines;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (use.counts.casts == 0 || brain_region(data, site) == nullptr) continue;
    Casting& casting = lines[line_of(data, site.stack)];
    if (use.counts.casts > casting.most) casting.site = site.id, casting.most = use.counts.casts;
    casting.casts += use.counts.casts;
    casting.bytes += use.counts.bytes;
    casting.trains |= train.contains(use.process);
  }
  return lines;
}

void judge_rnns(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, casting] : castings(data)) {
    const store::Site& site = data.sites[casting.site];
    Finding& finding = inquiry.add(site.stack);
    finding.title = "cuDNN's RNN computes in float16 in a region of bfloat16";
    finding.evidence_number = {{"casts", casting.casts}, {"bytes", casting.bytes}};
    finding.evidence_text = {{"region_dtype", "bfloat16"}, {"computed_in", "float16"}};
    add_related(finding, data, brain_region(data, site)->stack);
    finding.fix =
        "Call the RNN with autocast off and inputs in float32: `with torch.autocast(\"cuda\", enabled=False): "
        "rnn(x.float())`. For speed hold it in bfloat16 (rnn.to(torch.bfloat16)) and give it such inputs there.";
    if (casting.trains) finding.fix += " Where float16 is meant, let the region be of float16 and use a GradScaler.";
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "rnn-computes-in-float16",
    .severity = "warning",
    .harm = Harm::kPrecision,
    .summary = "cuDNN's RNN computes in float16 though the region is of bfloat16",
    .thresholds = {},
    .explanation = {.what = "An LSTM, GRU or RNN is called on a GPU in an autocast region of bfloat16. Autocast's "
                            "kernel for cuDNN's RNN casts input, state and weights to float16 in any region, and gives "
                            "back float16.",
                    .why = "float16 ends at 65504, where bfloat16 has the range of float32: what is larger becomes "
                           "infinite, and small gradients become 0, since nobody scales the loss for bfloat16.",
                    .example = R"(# Needs a GPU.
import torch

rnn = torch.nn.LSTM(64, 64).cuda()
with torch.autocast("cuda", dtype=torch.bfloat16):
    out, state = rnn(torch.randn(5, 8, 64, device="cuda"))
print(out.dtype)  # torch.float16)",
                    .fix = "Call it with autocast off, in float32 or, with its weights converted once, in bfloat16.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float16"},
    .judge = judge_rnns,
};

}  // namespace castscope::rules::rnn_computes_in_float16
