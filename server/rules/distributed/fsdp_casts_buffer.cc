// fsdp-casts-buffer: a table or positions in float32, passed to a module of FSDP as an argument, arrive in the policy's
// dtype: FSDP casts all floating arguments (cast_forward_inputs), whatever they mean.
//
// The rule cannot know the meaning of an argument. It takes a module's buffer for a table, and integers that the dtype
// cannot tell apart for positions.
#include <algorithm>
#include <map>

#include "server/rules/evidence/operators/dtypes.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"
#include "server/store/run/names.h"

namespace castscope::rules::fsdp_casts_buffer {
namespace {

// FSDP casts a module's own buffers in this function, as MixedPrecision(buffer_dtype=…) asks it to.
constexpr std::string_view kAskedFor = "_cast_buffers_to_dtype_and_device";

bool is_asked_for(const store::RunData& data, const store::Site& site) {
  const auto& frames = frames_of(data, site.stack);
  return std::any_of(frames.begin(), frames.end(),
                     [](const store::CodeLocation& frame) { return frame.function.ends_with(kAskedFor); });
}

// Returns the largest number in tensors of integers, if the dtype that they are cast to cannot tell it from its
// neighbours; else 0.
double lost_position(const store::RunData& data, const store::Site& site) {
  double most = 0;
  for (const store::ValueRange& range : data.value_ranges)
    if (range.site == site.id && range.integer_tensors > 0) most = std::max(most, range.most_integer);
  return most > largest_exact_integer(site.to) ? most : 0;
}

struct Group {
  store::SiteId site = {};
  std::uint64_t casts = 0, bytes = 0;
  bool buffer = false;
  double position = 0;
};

void add_finding(Inquiry& inquiry, const Group& group) {
  const store::RunData& data = inquiry.data;
  const store::Site& site = data.sites[group.site];
  const std::string to(store::dtype_name(site.to)), from(store::dtype_name(site.from));
  Finding& finding = inquiry.add(site.stack);
  finding.title = group.buffer ? "a buffer is passed to a module of FSDP, which casts it from " + from + " to " + to
                               : "positions are passed to a module of FSDP, which casts them to " + to +
                                     ", where neighbours become one number";
  finding.evidence_number = {{"casts", group.casts}, {"bytes", group.bytes}};
  if (group.position > 0)
    finding.evidence_number.emplace_back("largest_integer", static_cast<std::int64_t>(group.position));
  finding.evidence_text = {{"from_dtype", from}, {"to_dtype", to}, {"role", group.buffer ? "buffer" : "input"}};
  if (site.module != 0) finding.evidence_text.emplace_back("model", data.modules[site.module].model());
  finding.fix =
      "Use MixedPrecisionPolicy(…, cast_forward_inputs=False) and cast the inputs that are meant to be cast yourself "
      "(x = x.to(torch." +
      to + ")); or make the table inside the module that uses it.";
}

void judge_buffers(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  std::map<Line, Group> groups;
  for (const store::SiteUse& use : data.site_uses) {
    const store::Site& site = data.sites[use.site];
    if (site.cause != lanes::Cause::kFsdp || site.stack == 0 || use.counts.casts == 0) continue;
    if (!is_low(site.to) || site.role == lanes::Role::kWeight || site.phase == lanes::Phase::kBackward) continue;
    const bool buffer = site.role == lanes::Role::kBuffer && !is_asked_for(data, site);
    const double position = lost_position(data, site);
    if (!buffer && position == 0) continue;
    Group& group = groups[line_of(data, site.stack)];
    if (group.site == 0) group.site = site.id;
    group.casts += use.counts.casts;
    group.bytes += use.counts.bytes;
    group.buffer |= buffer;
    group.position = std::max(group.position, position);
  }
  for (const auto& [line, group] : groups) add_finding(inquiry, group);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "fsdp-casts-buffer",
    .severity = "warning",
    .harm = Harm::kResults,
    .summary = "FSDP casts a table or positions that were meant to stay in float32",
    .thresholds = {},
    .sees = kOperators | kEvents,
    .explanation = {.what =
                        "A buffer, or whole numbers beyond what the policy's dtype can tell apart, were passed to a "
                        "module under `fully_shard` with a `MixedPrecisionPolicy`, and FSDP cast them.",
                    .why = "`cast_forward_inputs` casts every floating argument. bfloat16 counts to 256 and float16 to "
                           "2048: beyond that, neighbouring positions become one.",
                    .example = R"(import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

class Rotate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(8, 8)

    def forward(self, x, positions):
        return self.out(x * positions[:, None].cos().to(x.dtype))

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = dist.init_device_mesh("cpu", (1,))
model = fully_shard(Rotate(), mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
y = model(torch.randn(1000, 8), torch.arange(1000).float())  # positions arrive in bfloat16)",
                    .fix = "Pass `cast_forward_inputs=False`, and cast the inputs by hand.",
                    .fixed_example = R"(import torch
import torch.distributed as dist
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

class Rotate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(8, 8)

    def forward(self, x, positions):
        return self.out(x * positions[:, None].cos().to(x.dtype))

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = dist.init_device_mesh("cpu", (1,))
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, cast_forward_inputs=False)
model = fully_shard(Rotate(), mesh=mesh, mp_policy=policy)
y = model(torch.randn(1000, 8).to(torch.bfloat16), torch.arange(1000).float()))",
                    .links = "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html#torch.distributed."
                             "fsdp.MixedPrecisionPolicy"},
    .judge = judge_buffers,
};

}  // namespace castscope::rules::fsdp_casts_buffer
