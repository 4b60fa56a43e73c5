#include "server/report/text/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "server/report/text/event_names.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

// Finds the closing bracket for the opening one at `at`; the end of the text where there is none.
std::size_t end_of_bracket(const std::string& text, std::size_t at, char open, char close) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open) ++depth;
    if (text[at] == close && --depth == 0) return at + 1;
  }
  return text.size();
}

}  // namespace

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

std::string short_kernel_name(const std::string& demangled) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::", kCutlass = "cutlass::Kernel";
  std::string name;
  for (std::size_t at = 0; at < demangled.size();) {
    if (demangled.compare(at, kAnonymous.size(), kAnonymous) == 0) {
      at += kAnonymous.size();
    } else if (demangled[at] == '<') {
      const std::size_t end = end_of_bracket(demangled, at, '<', '>');
      const std::size_t first = std::min(demangled.find_first_of(",<>", at + 1), end);
      if (name.find(kCutlass) != std::string::npos) return demangled.substr(at + 1, first - at - 1);
      at = end;
    } else if (demangled[at] == '(') {
      break;
    } else {
      name += demangled[at++];
    }
  }
  // The name of a template's instance begins with its return type.
  if (const std::size_t space = name.rfind(' '); space != std::string::npos && name.starts_with("void "))
    name.erase(0, space + 1);
  return name.empty() ? demangled : name;
}

std::string_view phase_of_origin(std::string_view origin) {
  for (const lanes::Phase phase : {lanes::Phase::kForward, lanes::Phase::kBackward})
    if (origin.ends_with(store::name(phase))) return store::name(phase);
  return store::name(lanes::Phase::kUnknown);
}

std::string purpose_of(const store::RunData& run, const store::Kernel& kernel) {
  if (kernel.site != 0) return "cast " + span_name(run, run.sites[kernel.site]);
  const std::string& op = kernel.use != 0 ? run.operator_uses[kernel.use].op : kernel.op;
  if (op.empty()) return kernel.origin;
  return op.starts_with("aten::") ? op.substr(6) : op;
}

store::StackId stack_of(const store::RunData& run, const store::Kernel& kernel) {
  if (kernel.site != 0) return run.sites[kernel.site].stack;
  return kernel.use != 0 ? run.operator_uses[kernel.use].stack : store::StackId();
}

store::ModuleId module_of(const store::RunData& run, const store::Kernel& kernel) {
  if (kernel.site != 0) return run.sites[kernel.site].module;
  return kernel.use != 0 ? run.operator_uses[kernel.use].module : store::ModuleId();
}

std::string stream_name(std::uint32_t device, std::uint32_t stream, std::uint32_t line) {
  return absl::StrCat("GPU ", device, " stream ", stream, line == 0 ? "" : ", at once");
}

std::string name_of(const store::RunData& run, const store::Kernel& kernel) {
  const std::string name = kernel.name == 0 ? "" : short_kernel_name(demangled(run.kernel_names[kernel.name]));
  return name.empty() ? "kernel" : name;
}

}  // namespace castscope::report
