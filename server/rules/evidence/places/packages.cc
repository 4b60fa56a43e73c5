#include "server/rules/evidence/places/packages.h"

#include <string_view>

namespace castscope::rules {
namespace {

constexpr std::string_view kPackages = "-packages/";  // site-packages, dist-packages

struct Switch {
  std::string_view package, sentence;
};
// Each from the library's own documentation.
constexpr Switch kSwitches[] = {
    // https://huggingface.co/docs/peft/package_reference/helpers
    {"peft",
     "peft's own switches are get_peft_model(…, autocast_adapter_dtype=False), and `with "
     "peft.helpers.disable_input_dtype_casting(model):` around the forward pass."},
    // https://speechbrain.readthedocs.io/en/latest/API/speechbrain.core.html
    {"speechbrain", "speechbrain's own switches are the run options --precision and --eval_precision."},
    // https://huggingface.co/docs/transformers/main_classes/trainer
    {"transformers",
     "transformers' own switches are TrainingArguments(bf16=…, fp16=…), and from_pretrained(…, dtype=…)."},
    // https://lightning.ai/docs/pytorch/stable/common/precision_basic.html
    {"lightning", "Lightning's own switch is Trainer(precision=…)."},
    {"pytorch_lightning", "Lightning's own switch is Trainer(precision=…)."},
    // https://huggingface.co/docs/accelerate/package_reference/accelerator
    {"accelerate", "accelerate's own switch is Accelerator(mixed_precision=…)."},
};

}  // namespace

bool is_in_package(const store::CodeLocation& frame) { return frame.file.find(kPackages) != std::string::npos; }

std::string switch_of_library(const store::CodeLocation& frame) {
  const std::size_t at = frame.file.find(kPackages);
  if (at == std::string::npos) return "";
  const std::string_view within = std::string_view(frame.file).substr(at + kPackages.size());
  const std::string_view package = within.substr(0, within.find('/'));
  for (const Switch& known : kSwitches)
    if (known.package == package) return std::string(known.sentence);
  return "";
}

}  // namespace castscope::rules
