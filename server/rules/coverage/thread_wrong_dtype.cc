// thread-wrong-dtype: a backward thread inherits autocast from a region, but computes in another low dtype than that
// region casts to.
#include <map>
#include <utility>
#include <vector>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::thread_wrong_dtype {
namespace {

struct Place {
  store::StackId stack = {};
  const store::OperatorUse* first = nullptr;
  const store::Region* own = nullptr;  // the region whose dtype it should have
  std::uint64_t operators = 0;
};

// A region of this device in which a process called backward.
struct Called {
  const store::Region* region = nullptr;
  store::StackId stack = {};
};
std::vector<Called> backward_calls(const store::RunData& data, store::ProcessId process, std::uint8_t device) {
  std::vector<Called> calls;
  for (const store::FactCount& count : data.fact_counts) {
    const store::Fact& fact = data.facts[count.fact];
    if (count.process != process || count.times == 0 || fact.kind != lanes::FactKind::kBackward) continue;
    calls.push_back({enabled_region(data, store::RegionId(fact.subject), device), fact.stack});
  }
  return calls;
}

bool is_handed_down(const store::RunData& data, const store::OperatorUse& use) {
  if (use.phase != lanes::Phase::kBackward || use.region == 0 || !use.is(lanes::kUseEligible)) return false;
  const store::Region& region = data.regions[use.region];
  return region.kind == lanes::RegionKind::kInherited && region.enabled && use.computed == region.dtype &&
         is_low(use.computed);
}

// Returns the call if all backward calls were made in regions of another dtype, so that the thread has its dtype from
// none of them.
const Called* wrong_call(const std::vector<Called>& calls, std::uint8_t dtype) {
  const Called* wrong = nullptr;
  for (const Called& call : calls) {
    if (call.region == nullptr || call.region->dtype == dtype) return nullptr;
    if (wrong == nullptr) wrong = &call;
  }
  return wrong;
}

void add_finding(Inquiry& inquiry, const Place& place) {
  const store::RunData& data = inquiry.data;
  const std::string has(store::dtype_name(place.first->computed)), should(store::dtype_name(place.own->dtype));
  Finding& finding = inquiry.add(place.stack);
  finding.title =
      place.first->op + " computes in " + has + " on a backward thread; the region around backward casts to " + should;
  finding.evidence_number = {{"operators_in_another_dtype", place.operators}};
  finding.evidence_text = {{"first_operator", place.first->op},
                           {"computed_in", has},
                           {"region_dtype", should},
                           {"region_opened_at", place_text(data, line_of(data, place.own->stack))}};
  finding.deep_only = true;
  finding.fix =
      "Call backward after the region, and decorate custom Functions with torch.amp.custom_fwd and custom_bwd: "
      "then nothing depends on what a backward thread was handed down.";
}

void judge_thread_dtypes(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<std::pair<store::ProcessId, std::uint8_t>, std::vector<Called>> calls_of;  // process, device
  std::map<Line, Place> places;
  for (const store::UseCount& count : data.use_counts) {
    const store::OperatorUse& use = data.operator_uses[count.use];
    if (count.times == 0 || !is_handed_down(data, use)) continue;
    auto [calls, fresh] = calls_of.try_emplace({count.process, use.device});
    if (fresh) calls->second = backward_calls(data, count.process, use.device);
    const Called* call = wrong_call(calls->second, data.regions[use.region].dtype);
    if (call == nullptr) continue;
    // The engine's threads have no Python stack of their own, so the finding stands where backward was called.
    const store::StackId stack = use.stack != 0 ? use.stack : call->stack;
    Place& place = places[line_of(data, stack)];
    if (place.first == nullptr) place = {stack, &use, call->region, 0};
    place.operators += count.times;
  }
  for (const auto& [at, place] : places) add_finding(inquiry, place);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "thread-wrong-dtype",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a backward thread computes in another low dtype than the region that it serves",
    .thresholds = {},
    .sees = kOperators,
    .explanation =
        {.what = "Backward is called in a region of one low dtype, and a thread of the engine computes in "
                 "another.",
         .why = "The engine hands the state of autocast down to its threads. Where the dtype is lost on the way "
                "they use the device's default: gradients of a float16 pass are computed in bfloat16, or the "
                "other way round.",
         .example = R"(# PyTorch 2.13 hands the dtype down, so that both are float16 and nothing is found.
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        print((grad.float() @ torch.randn(32, 32)).dtype)
        return grad * 2

with torch.autocast("cpu", dtype=torch.float16):
    Double.apply(torch.randn(2, 32, requires_grad=True)).sum().backward())",
         .fix = "Call backward after the region; decorate custom Functions with custom_fwd and custom_bwd.",
         .links =
             "https://docs.pytorch.org/docs/stable/notes/amp_examples.html#autocast-and-custom-autograd-functions"},
    .judge = judge_thread_dtypes,
};

}  // namespace castscope::rules::thread_wrong_dtype
