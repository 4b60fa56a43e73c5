// script-unsupported-autocast: TorchScript refused a way to use autocast. Its exceptions name no file and no line; the
// agent looks in the graph for the region that the pass does not take.
#include <algorithm>
#include <iterator>

#include "server/rules/evidence/error_facts.h"
#include "server/rules/evidence/mode_facts.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/rule.h"

namespace castscope::rules::script_unsupported_autocast {
namespace {

constexpr std::string_view kDecorator = "decorator is not supported in script mode";

// A way to use autocast that TorchScript refuses, recognised by the sentence that it raises
// (torch/csrc/jit/passes/autocast.cpp, torch/jit/frontend.py).
struct Misuse {
  std::string_view says, title, fix;
};
constexpr Misuse kMisuses[] = {
    {"_enabled argument must be a constant", "TorchScript takes autocast's `enabled` as a constant only",
     "Write enabled=True or enabled=False in place of the argument, or take it from an attribute of the module that "
     "TorchScript knows as a constant: `use_amp: torch.jit.Final[bool]` in the class, or its name in __constants__. To "
     "decide it at each call, make two scripts and choose between them outside."},
    {"device argument must be a constant", "TorchScript takes autocast's device as a constant only",
     "Write the device (\"cpu\", \"cuda\") into the call. To decide it at run time, make two scripts and choose "
     "between them outside."},
    {"dtype argument must be a constant", "TorchScript takes autocast's dtype as a constant only",
     "Write the dtype (torch.bfloat16) into the call."},
    {"as ...", "TorchScript takes no name for an autocast region (`with … as name`)",
     "Write `with torch.autocast(…):` without `as`, once for each region."},
    {"Unsupported autocast syntax",
     "TorchScript knows an autocast region only where it is made: this one is chosen by a condition, kept in an "
     "attribute, or handed in",
     "Write `with torch.autocast(…):` with its constants where the region is used."},
    {kDecorator, "TorchScript refuses a function that is decorated with autocast",
     "Use `with torch.autocast(…):` inside the function instead of the decorator."},
    {"Unsafe to autocast", "TorchScript refuses binary_cross_entropy where autocast is on",
     "Use binary_cross_entropy_with_logits on what comes before the sigmoid, or compute this loss outside of the "
     "region."},
    {"unrecognized device", "TorchScript knows autocast on cuda and cpu only",
     "Open the region around the call of the script: eager autocast knows the device."},
    {"AMP & JIT", "TorchScript's autocast refuses this call beside a region",
     "Move the call and the region into functions of their own, or open the region around the call of the script."}};
constexpr Misuse kAnother = {"", "TorchScript refuses this use of autocast",
                             "Write the region as one `with torch.autocast(…):` with constant arguments where it is "
                             "used."};

const Misuse& misuse_in(std::string_view text) {
  const auto found =
      std::ranges::find_if(kMisuses, [&](const Misuse& misuse) { return text.find(misuse.says) != text.npos; });
  return found == std::end(kMisuses) ? kAnother : *found;
}

// Returns PyTorch's own sentence, without the place of an assertion in its C++, and without a full stop at the end.
std::string_view sentence_of(std::string_view text) {
  constexpr std::string_view kReport = "please report a bug to PyTorch. ", kScript = "TorchScript error: ";
  if (const std::size_t at = text.find(kReport); at != text.npos) text.remove_prefix(at + kReport.size());
  if (text.starts_with(kScript)) text.remove_prefix(kScript.size());
  text = text.substr(0, text.find('\n'));
  return text.ends_with('.') && !text.ends_with("..") ? text.substr(0, text.size() - 1) : text;
}

void add_finding(Inquiry& inquiry, store::StackId stack, std::uint64_t times, const std::string& text) {
  const Misuse& misuse = misuse_in(text);
  Finding& finding = inquiry.add(stack);
  finding.title = std::string(misuse.title) + ": \"" + std::string(sentence_of(text)) + "\"";
  finding.evidence_number = {{"error_count", times}};
  finding.evidence_text = {{"error_message", text}};
  finding.fix = misuse.fix;
}

// torch.jit.script tries each attribute of a module that is a function, and leaves out those that it cannot compile
// (torch/jit/_recursive.py, infer_concrete_type_builder).
bool is_tried(const store::RunData& data, store::StackId stack) {
  return std::ranges::any_of(frames_of(data, stack), [&](const store::CodeLocation& frame) {
    return within_torch(data, frame) == "jit/_recursive.py" && frame.function == "infer_concrete_type_builder";
  });
}

void judge_refusals(Inquiry& inquiry) {
  const store::RunData& data = inquiry.data;
  for (const auto& [line, facts] : mode_facts(data, lanes::FactKind::kScriptRefused)) {
    if (std::ranges::all_of(facts.facts, [&](const store::Fact* fact) { return is_tried(data, fact->stack); }))
      continue;
    add_finding(inquiry, facts.first().stack, facts.times, facts.first().text);
  }
  for (const ErrorAt& at : errors_saying(data, kDecorator))
    if (!is_tried(data, at.stack)) add_finding(inquiry, at.stack, at.times, at.text);
}

}  // namespace

extern const Rule rule;
const Rule rule = {
    .name = "script-unsupported-autocast",
    .severity = "error",
    .harm = Harm::kError,
    .summary = "TorchScript refuses a way to use autocast",
    .thresholds = {},
    .explanation = {.what = "Scripted code uses autocast as a decorator, with an `enabled` that is not a constant, as "
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
    y = product(a, a, True)
except RuntimeError as error:
    print(error))",
                    .fix = "`with torch.autocast(\"cpu\", enabled=True):`, with constants in place of arguments.",
                    .fixed_example = R"(import torch

@torch.jit.script
def product(a, b):
    with torch.autocast("cpu", enabled=True):
        return torch.mm(a, b)

a = torch.randn(8, 8)
y = product(a, a))",
                    .links = "https://docs.pytorch.org/docs/stable/amp.html"},
    .judge = judge_refusals,
};

}  // namespace castscope::rules::script_unsupported_autocast
