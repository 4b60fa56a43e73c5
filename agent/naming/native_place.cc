#include "agent/naming/native_place.h"

#include <unwind.h>

#include "agent/torch/torch_python.h"
#include "agent/torch/torch_seam.h"

namespace castscope::agent {
namespace {

struct Search {
  NativeFunctions& functions;
  std::string op = {};
  int levels = 0;
  int most_levels = 48;
  bool past_python = false;  // the operator that is looked for has its implementation in Python
  bool converting = false;   // the implementation of `to` or `type_as` was passed on the way
  bool from_python = false;  // … and then Python, with no other operator in between
};

_Unwind_Reason_Code look_for_operator(_Unwind_Context* context, void* data) {
  auto& s = *static_cast<Search*>(data);
  const NativeFunction function = s.functions.at(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
  if (!function.op.empty()) {
    s.op = operator_of_symbol(function.op);
    return _URC_END_OF_STACK;
  }
  // The call came through the operator's binding, or, boxed, through torch.ops.
  if (!s.past_python && s.converting && function.in_torch_python) {
    s.from_python = true;
    return _URC_END_OF_STACK;
  }
  if (function.is_conversion_itself)
    s.converting = true;
  else if (function.implements)
    s.converting = false;  // an operator's implementation, called boxed, or the engine, called by backward()
  return ++s.levels > s.most_levels ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

NativePlace native_place(NativeFunctions& functions, const void* caller, const Definitions::Place& innermost,
                         lanes::Phase phase, bool below_autocast, bool boxed) {
  functions.begin_walk();
  const NativeFunction asker = caller == nullptr ? NativeFunction() : functions.at(caller);
  const bool pytorchs = has_operators(innermost.file);
  if (asker.in_torch_python && !pytorchs) {
    const bool custom = casts_for_autocast(innermost.file, innermost.function);
    return {custom ? lanes::Cause::kCustomCast : lanes::Cause::kUserTo, "aten::to"};
  }
  if (asker.is_scripts_autocast)
    return {lanes::Cause::kScript,
            asker.to_full_precision ? "aten::_autocast_to_full_precision" : "aten::_autocast_to_reduced_precision"};
  // The interpreter's own frames lie below an operator in Python.
  Search search{
      .functions = functions, .most_levels = pytorchs ? 1000 : 48, .past_python = pytorchs, .converting = boxed};
  _Unwind_Backtrace(look_for_operator, &search);
  // TorchScript's interpreter may run in a thread of its own, and C++ needs no Python.
  if (search.from_python || (search.converting && search.op.empty())) return {lanes::Cause::kUserTo, "aten::to"};
  if (asker.is_tensor_iterator) return {lanes::Cause::kPromotion, search.op};
  if (phase == lanes::Phase::kBackward) return {lanes::Cause::kBackward, search.op};
  if (below_autocast && sets_dtype_argument(search.op)) return {lanes::Cause::kDtypeArgument, search.op};
  return {lanes::Cause::kOperator, search.op};
}

}  // namespace castscope::agent
