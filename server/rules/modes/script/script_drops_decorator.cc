// script-drops-decorator: a method that is decorated with autocast was scripted. PyTorch compiles the code below the
// decorator; for a function it raises an error about the decorator, for a method it says nothing.
#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/places/regions.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::script_drops_decorator {
namespace {

// Recognises "torch.autocast('cpu', enabled=False)" and "autocast('cpu', None, False)"; and
// "torch.cuda.amp.autocast(False)", which takes no device and has `enabled` first.
bool switches_off(const std::string& decorator) {
  const std::size_t open = decorator.find('('), close = decorator.rfind(')');
  if (open == decorator.npos || close == decorator.npos || close < open) return false;
  const std::string written = decorator.substr(open + 1, close - open - 1);
  const std::vector<std::string> arguments = absl::StrSplit(written, ", ");
  if (std::ranges::find(arguments, "enabled=False") != arguments.end() || arguments[0] == "False") return true;
  return arguments.size() > 2 && arguments[2] == "False" && arguments[0] != "True";
}

// Returns the frames of a script on this stack: those within the call of a module by Python.
std::span<const store::CodeLocation> frames_of_script(const store::RunData& data, store::StackId stack) {
  const std::vector<store::CodeLocation>& frames = frames_of(data, stack);
  const auto call =
      std::ranges::find_if(frames, [&](const store::CodeLocation& frame) { return is_module_call(data, frame); });
  if (call == frames.end()) return {};
  return {frames.begin(), call};
}

// Returns the decorated method, by the first of its lines at which something was cast.
std::string method_below(const store::RunData& data, const store::CodeLocation& decorator) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::string method;
  for (const store::Site& site : data.sites)
    for (const store::CodeLocation& frame : frames_of_script(data, site.stack))
      if (frame.file == decorator.file && frame.line > decorator.line && frame.line < first)
        first = frame.line, method = frame.function;
  return method;
}

// Returns an eager region in which operators that the script runs in this method were cast; nullptr when there is none.
const store::Region* region_around(const store::RunData& data, const store::Fact& dropped) {
  const auto decorator = data.user_location(dropped.stack);
  if (!decorator.has_value()) return nullptr;
  const std::string method = method_below(data, *decorator);
  for (const store::Site& site : data.sites) {
    const store::Region* region = eager_region(data, site.region, site.device);
    const bool within = std::ranges::any_of(frames_of_script(data, site.stack), [&](const store::CodeLocation& frame) {
      return frame.file == decorator->file && frame.line > decorator->line && frame.function == method;
    });
    if (region != nullptr && within) return region;
  }
  return nullptr;
}

std::string fix_for(const store::RunData& data, const store::Fact& dropped) {
  if (!switches_off(dropped.text))
    return "Leave the decorator out, and write `with torch.autocast(…):` within the method or around the call of the "
           "script, which then computes in the region's dtype.";
  const std::string within =
      "Leave the decorator out, and write `with torch.autocast(…, enabled=False):` within the method.";
  const store::Region* region = region_around(data, dropped);
  return region == nullptr ? within : within + " " + call_with_autocast_off(region->device);
}

void judge_decorators(Inquiry& inquiry) {
  for (const auto& [line, facts] : mode_facts(inquiry.data, lanes::FactKind::kScriptDropsDecorator)) {
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title = "TorchScript compiles this method without its decorator: the region is not there";
    if (!facts.first().text.empty()) finding.evidence_text = {{"dropped_decorator", facts.first().text}};
    finding.fix = fix_for(inquiry.data, facts.first());
  }
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-drops-decorator",
    .severity = "error",
    .harm = Harm::kPrecision,
    .summary = "a scripted method is decorated with autocast, and runs without it",
    .thresholds = {},
    .explanation =
        {.what = "A module whose method is decorated with `@torch.autocast(…)` went through "
                 "torch.jit.script.",
         .why = "PyTorch compiles the source below the decorator. A decorated function is refused with a "
                "message; a method is taken, and computes without the region, or ignores that the "
                "decorator switches autocast off.",
         .example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def forward(self, x):
        return self.linear(x)

net, x = Net(), torch.randn(2, 8)
y, z = net(x), torch.jit.script(net)(x)
print(y.dtype, z.dtype)  # bfloat16, float32)",
         .fix = "`with torch.autocast(\"cpu\", dtype=torch.bfloat16):` within the method, in place of the decorator: "
                "the script then computes in the region's dtype.",
         .fixed_example = R"(import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.linear(x)

net, x = Net(), torch.randn(2, 8)
y, z = net(x), torch.jit.script(net)(x)
print(y.dtype, z.dtype)  # bfloat16, bfloat16)",
         .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_decorators,
};

}  // namespace castscope::rules::script_drops_decorator
