#include "server/rules/code_places.h"

#include <algorithm>
#include <array>

namespace castscope::rules {
namespace {

using store::CodeLocation;
using store::RunData;

// "autograd/function.py" of a frame in the torch package, "" of others.
std::string_view within_torch(const RunData& data, const CodeLocation& frame) {
  if (store::is_users_own(frame, data.torch_folders)) return "";
  const std::size_t at = frame.file.rfind("/torch/");
  return at == std::string::npos ? std::string_view() : std::string_view(frame.file).substr(at + 7);
}

const std::vector<CodeLocation>& frames_of(const RunData& data, std::uint32_t stack) {
  static const std::vector<CodeLocation> none;
  return stack == 0 ? none : data.stacks[stack - 1].frames;
}

// What stands between the engine, or Function.apply, and a method that is decorated.
bool is_decorator(std::string_view file) {
  return file == "amp/autocast_mode.py" || file == "cuda/amp/autocast_mode.py" || file == "autograd/function.py";
}

std::string line_text(const CodeLocation& frame) { return frame.file + ":" + std::to_string(frame.line); }

}  // namespace

std::string_view last_name(std::string_view qualified) { return qualified.substr(qualified.rfind('.') + 1); }

FunctionMethod function_method(const RunData& data, std::uint32_t stack) {
  using Kind = FunctionMethod::Kind;
  FunctionMethod method;
  const CodeLocation *forward = nullptr, *backward = nullptr, *inside = nullptr;
  for (const CodeLocation& frame : frames_of(data, stack)) {
    const std::string_view file = within_torch(data, frame);
    if (file == "autograd/function.py") {
      if (last_name(frame.function).starts_with("apply"))
        method.kind = frame.function.starts_with("BackwardCFunction.") ? Kind::kBackward : Kind::kForward;
    } else if (file.empty()) {
      const std::string_view name = last_name(frame.function);
      if (name == "forward") forward = &frame;
      if (name == "backward" || name == "vjp") backward = &frame;
    }
    if (method.kind != Kind::kNone) break;
    if (!is_decorator(file)) inside = &frame;
  }
  const CodeLocation* own = method.kind == Kind::kBackward ? backward : forward;
  const bool torchs_own = inside != nullptr && !within_torch(data, *inside).empty();
  if (method.kind == Kind::kNone || own == nullptr || torchs_own) return method;
  const std::size_t dot = own->function.rfind('.');
  method.file = own->file;
  method.owner = dot == std::string::npos ? "" : own->function.substr(0, dot);
  method.line = own->line;
  return method;
}

bool is_module_call(const RunData& data, const CodeLocation& frame) {
  const std::string_view name = last_name(frame.function);
  return (name == "_call_impl" || name == "_wrapped_call_impl") && within_torch(data, frame) == "nn/modules/module.py";
}

Spot spot_of(const RunData& data, const store::OperatorUse& use) {
  std::string lines;
  for (const CodeLocation& frame : frames_of(data, use.stack)) {
    const std::string_view file = within_torch(data, frame);
    if (use.module != 0 && is_module_call(data, frame)) break;
    lines += line_text(frame) + "\n";
    if (use.module == 0 && file.empty()) break;
  }
  return {use.module, use.op, lines};
}

bool called_by_engine(const RunData& data, const store::OperatorUse& use) {
  const std::vector<CodeLocation>& frames = frames_of(data, use.stack);
  if (use.phase != lanes::Phase::kBackward) return false;
  return frames.empty() || within_torch(data, frames.front()) == "autograd/graph.py";
}

bool in_autocast(const RunData& data, const store::OperatorUse& use) { return enabled_region(data, use) != nullptr; }

bool is_within_torch(const RunData& data, std::uint32_t stack, std::string_view part) {
  const std::vector<CodeLocation>& frames = frames_of(data, stack);
  return std::any_of(frames.begin(), frames.end(),
                     [&](const CodeLocation& frame) { return within_torch(data, frame).starts_with(part); });
}

std::string operator_name(std::string_view op) { return std::string(short_name(op)); }

bool is_product(std::string_view op) {
  constexpr std::array<std::string_view, 22> kNames = {"mm",
                                                       "matmul",
                                                       "bmm",
                                                       "linear",
                                                       "addmm",
                                                       "addbmm",
                                                       "baddbmm",
                                                       "addmv",
                                                       "mv",
                                                       "addr",
                                                       "einsum",
                                                       "conv1d",
                                                       "conv2d",
                                                       "conv3d",
                                                       "conv_tbc",
                                                       "convolution",
                                                       "conv_transpose1d",
                                                       "conv_transpose2d",
                                                       "conv_transpose3d",
                                                       "chain_matmul",
                                                       "linalg_multi_dot",
                                                       "scaled_dot_product_attention"};
  const std::string name = operator_name(op);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_cast_down(const RunData& data, const store::OperatorUse& use) {
  if (!is_low(use.computed) || use.is(lanes::kUseConverts | lanes::kUseWrites) || !in_autocast(data, use)) return false;
  return std::any_of(use.operands.begin(), use.operands.end(),
                     [](const lanes::Operand& operand) { return operand.dtype == kFloat && has_dimensions(operand); });
}

std::string place_text(const RunData& data, const CodeLocation& at) {
  const std::string folder = data.start.cwd + "/";
  const bool inside = !data.start.cwd.empty() && at.file.starts_with(folder);
  return (inside ? at.file.substr(folder.size()) : at.file) + ":" + std::to_string(at.line);
}

}  // namespace castscope::rules
