#include "server/rules/evidence/places/code_places.h"

#include "server/rules/evidence/places/places.h"

namespace castscope::rules {
namespace {

using store::CodeLocation;
using store::RunData;

// Such frames stand between the engine, or Function.apply, and a method that is decorated.
bool is_decorator(std::string_view file) {
  return file == "amp/autocast_mode.py" || file == "cuda/amp/autocast_mode.py" || file == "autograd/function.py";
}

// "Product" of "Product.forward".
std::string_view owner_of(std::string_view method) {
  const std::size_t dot = method.rfind('.');
  return dot == std::string_view::npos ? "" : method.substr(0, dot);
}

}  // namespace

OwnFunctionNames own_function_names(const RunData& data) {
  OwnFunctionNames names;
  for (const store::OperatorUse& use : data.operator_uses) {
    // Nodes of PyTorch's own have a number at their end.
    constexpr std::string_view kNode = "Backward";
    if (use.phase != lanes::Phase::kBackward || !use.node.ends_with(kNode)) continue;
    const FunctionMethod method = function_method(data, use.stack);
    if (method.kind != FunctionMethod::Kind::kBackward || method.owner.empty()) continue;
    names.emplace(method.file, last_name(method.owner));
    names.emplace(method.file, use.node.substr(0, use.node.size() - kNode.size()));  // it may inherit its backward
  }
  return names;
}

// From PyTorch 2.15 on Function.apply is no Python code, so that no frame of it stands above forward: there a method
// `forward` of a class whose backward is known for one is taken for it.
FunctionMethod function_method(const RunData& data, store::StackId stack, const OwnFunctionNames& known) {
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
      if (name == "forward") {
        forward = &frame;
        const std::string_view owner = owner_of(frame.function);
        if (known.contains({frame.file, std::string(last_name(owner))})) method.kind = Kind::kForward;
      }
      if (name == "backward" || name == "vjp") backward = &frame;
    }
    if (!is_decorator(file)) inside = &frame;
    if (method.kind != Kind::kNone) break;
  }
  const CodeLocation* own = method.kind == Kind::kBackward ? backward : forward;
  const bool torchs_own = inside != nullptr && !within_torch(data, *inside).empty();
  if (method.kind == Kind::kNone || own == nullptr || torchs_own) return method;
  method.file = own->file;
  method.owner = owner_of(own->function);
  return method;
}

Spot spot_of(const RunData& data, const store::OperatorUse& use) {
  std::string lines;
  for (const CodeLocation& frame : frames_of(data, use.stack)) {
    const std::string_view file = within_torch(data, frame);
    if (use.module != 0 && is_module_call(data, frame)) break;
    lines += frame.file + ":" + std::to_string(frame.line) + "\n";
    if (use.module == 0 && file.empty()) break;
  }
  return {use.module, use.op, lines};
}

bool called_by_engine(const RunData& data, const store::OperatorUse& use) {
  const std::vector<CodeLocation>& frames = frames_of(data, use.stack);
  if (use.phase != lanes::Phase::kBackward) return false;
  return frames.empty() || within_torch(data, frames.front()) == "autograd/graph.py";
}

}  // namespace castscope::rules
