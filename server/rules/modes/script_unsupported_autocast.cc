// script-unsupported-autocast: TorchScript refused a way to use autocast. Its exceptions name no file and no line; the
// agent looks in the graph for the region that the pass does not take.
#include <algorithm>

#include "server/rules/errors/error_facts.h"
#include "server/rules/modes/mode_facts.h"
#include "server/rules/places.h"
#include "server/rules/rules.h"

namespace castscope::rules {
namespace {

constexpr std::string_view kDecorator = "decorator is not supported in script mode";

std::string fix_for(std::string_view text) {
  if (text.find("device argument must be a constant") != std::string_view::npos)
    return "Write the device as a constant; choose between two functions outside of the script.";
  if (text.find("must be a constant") != std::string_view::npos)
    return "Write enabled as a constant; choose between two functions outside of the script.";
  if (text.find("as ...") != std::string_view::npos) return "Write `with torch.autocast(…):` without `as`.";
  if (text.find(kDecorator) != std::string_view::npos)
    return "Use `with torch.autocast(…):` inside the function instead of the decorator.";
  if (text.find("Unsafe to autocast") != std::string_view::npos)
    return "Use binary_cross_entropy_with_logits, or leave the region for this loss.";
  if (text.find("unrecognized device") != std::string_view::npos)
    return "TorchScript knows autocast on cuda and cpu only: open the region around the call of the script.";
  return "Write the region as one `with torch.autocast(…):` with constant arguments where it is used.";
}

// torch.jit.script of a module tries each attribute that is a function, and leaves out those that it cannot compile
// (torch/jit/_recursive.py, infer_concrete_type_builder).
bool is_tried(const store::RunData& data, std::uint32_t stack) {
  return std::ranges::any_of(frames_of(data, stack), [&](const store::CodeLocation& frame) {
    return within_torch(data, frame) == "jit/_recursive.py" && frame.function == "infer_concrete_type_builder";
  });
}

void judge_it(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptRefused)) {
    if (std::ranges::all_of(facts.facts, [&](const store::Fact* fact) { return is_tried(data, fact->stack); }))
      continue;
    Finding& finding = inquiry.add(facts.first().stack);
    finding.title = "TorchScript refuses this use of autocast, without a place in its message";
    finding.evidence_number = {{"errors", facts.times}};
    finding.evidence_text = {{"error", facts.first().text}};
    finding.fix = fix_for(facts.first().text);
  }
  for (const ErrorAt& at : errors_saying(data, kDecorator)) {
    if (is_tried(data, at.stack)) continue;
    Finding& finding = inquiry.add(at.stack);
    finding.title = "TorchScript refuses a function that is decorated with autocast";
    finding.evidence_number = {{"errors", at.times}};
    finding.evidence_text = {{"error", at.text}};
    finding.fix = fix_for(at.text);
  }
}

}  // namespace

extern const Rule script_unsupported_autocast;
const Rule script_unsupported_autocast = {
    .name = "script-unsupported-autocast",
    .severity = "error",
    .summary = "TorchScript refuses a way to use autocast",
    .thresholds = {},
    .explanation = {.what = "Scripted code uses autocast as a decorator, with an `enabled` that is no constant, as "
                            "`with … as`, on a device that TorchScript does not know, or around an operator that "
                            "autocast refuses.",
                    .why = "The exception is raised when the script is first called, and is one sentence without a "
                           "file or a line.",
                    .example = R"(import torch

@torch.jit.script
def product(a, b, use_amp: bool):
    with torch.autocast("cpu", enabled=use_amp):
        return torch.mm(a, b)

a = torch.randn(8, 8)
try:
    product(a, a, True)
except RuntimeError as error:
    print(error))",
                    .fix = "`with torch.autocast(\"cpu\", dtype=torch.bfloat16):`, with constants.",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_it,
};

}  // namespace castscope::rules
