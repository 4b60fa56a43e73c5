#include "agent/casts/role.h"

#include <cstring>

#include "agent/session/process.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/parameter_memory.h"

namespace castscope::agent {
namespace {

using lanes::Role;

bool is_weight_argument(std::string_view name) {
  return name == "weight" || name == "bias" || name == "params" || name.starts_with("w_") || name.starts_with("b_") ||
         name.starts_with("weight") || name.ends_with("_weight") || name.ends_with("_bias");
}

// The places where functional code, which has no Parameter objects, passes its weights.
bool is_weight_place(std::string_view op, std::string_view argument) {
  if (argument == "mat2" || argument == "batch2") return true;
  if (op == "aten::matmul") return argument == "other";
  const bool adds =
      op == "aten::addmm" || op == "aten::_addmm_activation" || op == "aten::baddbmm" || op == "aten::addbmm";
  return adds && argument == "self";
}

bool holds(const HeldGil& gil, const PythonApi& api, PyObject* container, const PyObject* wanted, int depth) {
  if (container == wanted) return true;
  if (container == nullptr || depth == 0) return false;
  const PyObject* type = type_of(container);
  if (type == api.tuple_type) {
    for (std::ptrdiff_t i = 0; i < api.tuple_size(container); ++i)
      if (holds(gil, api, api.tuple_item(container, i), wanted, depth - 1)) return true;
  } else if (type == api.list_type) {
    for (std::ptrdiff_t i = 0; i < api.list_size(container); ++i)
      if (holds(gil, api, api.list_item(container, i), wanted, depth - 1)) return true;
  } else if (is_dict(container)) {
    PyObject *key = nullptr, *value = nullptr;
    std::ptrdiff_t at = 0;
    while (api.dict_next(container, &at, &key, &value) != 0)
      if (holds(gil, api, value, wanted, depth - 1)) return true;
  }
  return false;
}

// isinstance(tensor, Parameter) for a tensor whose class is not Parameter: the instance is marked, in its own
// dictionary.
bool is_marked(const MayWait& may_wait, const PythonApi& api, const PyObject* tensor) {
  if (tensor == nullptr || std::strcmp(type_name(type_of(tensor)), "Tensor") == 0) return false;
  Gil gil(may_wait, api);
  if (!gil.held()) return false;
  KeepError keep(gil, api);
  PyObject* dict = api.generic_dict(object_at(tensor), nullptr);
  if (dict == nullptr) {
    api.clear_error();
    return false;
  }
  const bool found = api.dict_item(dict, "_is_param") != nullptr;
  api.dec_ref(dict);
  return found;
}

PyObject* innermost_module(const PythonApi& api, const RawStack& raw) {
  return object_at(PythonStack::self_of(api, raw.module_frame));
}

// Returns whether the innermost module has the tensor or its base in `among`, its _buffers or _parameters.
bool is_held(const HeldGil& gil, const PythonApi& api, const RawStack& raw, const char* among, const PyObject* tensor,
             const PyObject* base) {
  PyObject* dict = api.generic_dict(innermost_module(api, raw), nullptr);
  if (dict == nullptr) {
    api.clear_error();
    return false;
  }
  PyObject* held = api.dict_item(dict, among);
  const bool found =
      (tensor != nullptr && holds(gil, api, held, tensor, 1)) || (base != nullptr && holds(gil, api, held, base, 1));
  api.dec_ref(dict);
  return found;
}

// Returns whether any module whose call this thread is in has the tensor in its _buffers.
bool is_buffer_around(const HeldGil& gil, const PythonApi& api, const PyObject* tensor) {
  const void* call = PythonStack::module_call_code.load(std::memory_order_relaxed);
  const void* frame = PythonStack::top(api);
  for (; frame != nullptr; frame = read_at<const void*>(frame, api.frame.previous)) {
    if (read_at<std::uint8_t>(frame, api.frame.owner) >= api.frame.first_foreign_owner) continue;
    auto code = read_at<std::uintptr_t>(frame, api.frame.code);
    if (api.frame.tagged) code &= ~std::uintptr_t{3};
    if (reinterpret_cast<const void*>(code) != call) continue;
    PyObject* dict = api.generic_dict(object_at(PythonStack::self_of(api, frame)), nullptr);
    if (dict == nullptr) {
      api.clear_error();
      continue;
    }
    const bool found = holds(gil, api, api.dict_item(dict, "_buffers"), tensor, 1);
    api.dec_ref(dict);
    if (found) return true;
  }
  return false;
}

// Module._wrapped_call_impl(self, *args, **kwargs): locals 1 and 2.
bool is_root_argument(const HeldGil& gil, const PythonApi& api, const RawStack& raw, const PyObject* tensor) {
  if (tensor == nullptr) return false;
  constexpr int kDepth = 3;  // the tuple of arguments, a list or dict in it, tensors in that
  return holds(gil, api, object_at(PythonStack::self_of(api, raw.root_module_frame, 1)), tensor, kDepth) ||
         holds(gil, api, object_at(PythonStack::self_of(api, raw.root_module_frame, 2)), tensor, kDepth);
}

}  // namespace

bool is_marked_parameter(const MayWait& may_wait, const void* tensor) {
  if (!g_process.has_python) return false;
  const PythonApi& api = g_process.python;
  return is_marked(may_wait, api, python_object_of(tensor)) || is_marked(may_wait, api, python_object_of_base(tensor));
}

Role role_of(const MayWait& may_wait, const CallFacts& f, lanes::Cause cause, std::string_view op,
             std::string_view argument, const RawStack& raw, const void* tensor) {
  if (cause == lanes::Cause::kBackward) return Role::kGradient;
  if (f.phase == lanes::Phase::kBackward && !f.grad_mode && !f.parameter) return Role::kGradient;
  if (f.parameter || (cause == lanes::Cause::kScript && f.requires_grad && f.leaf)) return Role::kWeight;

  const PyObject* tensor_object = python_object_of(tensor);
  const PyObject* base_object = python_object_of_base(tensor);
  const bool in_python = tensor_object != nullptr || base_object != nullptr;
  bool root_argument = false;
  if (raw.module_frame != nullptr && (in_python || is_weight_place(op, argument))) {
    const PythonApi& api = g_process.python;
    Gil gil(may_wait, api);
    if (gil.held()) {
      KeepError keep(gil, api);
      if (in_python ? is_held(gil, api, raw, "_parameters", tensor_object, base_object)
                    : is_memory_of_parameter(gil, api, innermost_module(api, raw), tensor))
        return Role::kWeight;
      if (!f.requires_grad && is_held(gil, api, raw, "_buffers", tensor_object, base_object)) return Role::kBuffer;
      // FSDP casts what its module is given, which may also be a buffer of another module around it.
      if (cause == lanes::Cause::kFsdp && tensor_object != nullptr && is_buffer_around(gil, api, tensor_object))
        return Role::kBuffer;
      root_argument = !f.requires_grad && is_root_argument(gil, api, raw, tensor_object);
    }
  }
  if (is_weight_argument(argument)) return Role::kWeight;
  if (f.requires_grad && !f.leaf) return Role::kActivation;
  if (f.requires_grad) return is_weight_place(op, argument) ? Role::kWeight : Role::kInput;
  // A tensor that an operator converts inside itself, and that Python never had, is an interim result.
  if (cause == lanes::Cause::kOperator && raw.depth > 0 && tensor_object == nullptr) return Role::kActivation;
  if (f.grad_mode || raw.module_frame == nullptr) return Role::kInput;
  return root_argument ? Role::kInput : Role::kActivation;
}

}  // namespace castscope::agent
