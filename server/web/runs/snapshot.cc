#include "server/web/runs/snapshot.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/report/text/event_names.h"
#include "server/report/text/kernel_names.h"
#include "server/store/run/names.h"

namespace castscope::web {
namespace {

std::string module_words(const store::RunData& run, store::ModuleId module) {
  if (module == 0) return "";
  const store::Module& at = run.modules[module];
  return absl::StrCat(at.model(), " ", at.path, " ", at.type);
}

// The short names of dtypes, as people type them.
std::string_view short_name(std::string_view dtype) {
  return dtype == "bfloat16"  ? "bf16"
         : dtype == "float16" ? "fp16"
         : dtype == "float32" ? "fp32"
         : dtype == "float64" ? "fp64"
                              : "";
}

// " bf16 fp32"; 0xff = none.
std::string short_names(std::initializer_list<std::uint8_t> dtypes) {
  std::string names;
  for (const std::uint8_t dtype : dtypes) {
    if (dtype != 0xff) absl::StrAppend(&names, " ", std::string(short_name(store::dtype_name(dtype))));
  }
  return names;
}

std::string in_lower_case(std::string text) {
  absl::AsciiStrToLower(&text);
  return text;
}

}  // namespace

std::string name_of_use(const store::OperatorUse& use) {
  std::string op = use.op.starts_with("aten::") ? use.op.substr(6) : use.op;
  if (use.computed == 0xff) return op;
  return op.append(" in ").append(store::dtype_name(use.computed));
}

std::string place_words(const store::RunData& run, store::StackId stack) {
  const auto at = run.user_location(stack);
  return at ? absl::StrCat(at->file, ":", at->line, " ", at->function) : std::string();
}

Snapshot::Snapshot(judging::JudgedRunPtr run, std::uint64_t number)
    : run_(std::move(run)), data_(run_->data), model_(report::model_of(*run_)), number_(number) {
  gather_words();
}

void Snapshot::gather_words() {
  for (const store::Site& site : data_.sites) {
    const std::string dtypes = site.has_dtypes() ? short_names({site.from, site.to}) : "";
    sites_.push_back(in_lower_case(absl::StrCat(report::span_name(data_, site), " ", place_words(data_, site.stack),
                                                " ", module_words(data_, site.module), dtypes)));
  }
  for (const store::Region& region : data_.regions)
    regions_.push_back(in_lower_case(
        absl::StrCat(report::span_name(region), " ", place_words(data_, region.stack), short_names({region.dtype}))));
  for (const store::OperatorUse& use : data_.operator_uses) {
    uses_.push_back(in_lower_case(absl::StrCat(name_of_use(use), " ", use.node, " ", place_words(data_, use.stack), " ",
                                               module_words(data_, use.module), short_names({use.computed}))));
  }
  for (const store::Kernel& kernel : data_.kernels) {
    const std::string name = kernel.name == 0 ? "" : report::demangled(data_.kernel_names[kernel.name]);
    kernels_.push_back(in_lower_case(absl::StrCat(name, " ", report::purpose_of(data_, kernel), " ",
                                                  place_words(data_, report::stack_of(data_, kernel)), " ",
                                                  module_words(data_, report::module_of(data_, kernel)))));
  }
}

}  // namespace castscope::web
