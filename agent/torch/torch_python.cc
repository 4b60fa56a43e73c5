#include "agent/torch/torch_python.h"

#include <algorithm>

namespace castscope::agent {
namespace {

struct Function {
  std::string_view file, name;
};
constexpr Function kCasts[] = {
    // custom_fwd(cast_inputs=…), flex_attention; until 2.6 torch.library.register_autocast too
    {"/torch/amp/autocast_mode.py", "_cast"},
    // torch.library.register_autocast, CustomOpDef.register_autocast
    {"/torch/_library/custom_ops.py", "_cast"},
    // scaled_dot_product_attention of jagged nested tensors
    {"/torch/nested/_internal/sdpa.py", "_autocast.<locals>.cvt"},
};
constexpr std::string_view kOperators[] = {"/torch/_prims_common/", "/torch/_prims/", "/torch/_refs/",
                                           "/torch/_decomp/"};
constexpr std::string_view kPassOn[] = {"/torch/_ops.py",           "/torch/overrides.py",
                                        "/torch/_tensor.py",        "/torch/utils/_device.py",
                                        "/torch/fx/interpreter.py", "/torch/nn/parameter.py"};
// PyTorch's own tensors that are made of other tensors, and do with those what they are asked to do.
constexpr std::string_view kMadeOfOthers[] = {"/torch/nested/_internal/", "/torch/distributed/tensor/",
                                              "/torch/masked/", "/torch/sparse/"};
constexpr std::string_view kAsTold[] = {"/torch/nn/modules/module.py", "/torch/nn/utils/rnn.py"};
constexpr std::string_view kWithoutValues[] = {"/torch/_subclasses/", "/torch/fx/experimental/",
                                               "/torch/_dynamo/convert_frame.py", "/torch/_dynamo/symbolic_convert.py"};

}  // namespace

bool casts_for_autocast(std::string_view file, std::string_view function) {
  for (const Function& cast : kCasts)
    if (function == cast.name && file.ends_with(cast.file)) return true;
  return false;
}

bool passes_calls_on(std::string_view file) {
  return std::ranges::any_of(kPassOn, [&](std::string_view one) { return file.ends_with(one); }) ||
         std::ranges::any_of(kMadeOfOthers, [&](std::string_view one) { return file.find(one) != file.npos; });
}

bool converts_as_told(std::string_view file) {
  return follows_code(file) || std::ranges::any_of(kAsTold, [&](std::string_view one) { return file.ends_with(one); });
}

bool has_operators(std::string_view file) {
  for (const std::string_view folder : kOperators)
    if (file.find(folder) != std::string_view::npos) return true;
  return false;
}

bool is_grad_scaler(std::string_view file) { return file.ends_with("/torch/amp/grad_scaler.py"); }

bool clips_gradients(std::string_view file, std::string_view function) {
  if (!file.ends_with("/torch/nn/utils/clip_grad.py")) return false;
  return function == "_clip_grads_with_norm_" || function == "clip_grad_norm_" || function == "clip_grad_value_";
}

bool is_fsdp(std::string_view file) { return file.find("/torch/distributed/fsdp/") != std::string_view::npos; }

bool gathers_parameters(std::string_view file, std::string_view function) {
  return file.ends_with("/_fully_shard/_fsdp_param.py") && function.ends_with(".all_gather_inputs");
}

bool may_cast_for_fsdp(std::string_view file) { return is_fsdp(file) || file.ends_with("/torch/distributed/utils.py"); }

bool runs_without_values(std::string_view file) {
  for (const std::string_view part : kWithoutValues)
    if (file.find(part) != std::string_view::npos) return true;
  return false;
}

bool follows_code(std::string_view file) {
  return file.ends_with("/torch/_dynamo/symbolic_convert.py") || file.ends_with("/torch/export/_trace.py");
}

bool traces_code(std::string_view file) { return file.ends_with("/torch/jit/_trace.py"); }

bool is_torch_imported(const HeldGil& gil, const PythonApi& api) {
  KeepError keep(gil, api);
  PyObject* torch = api.dict_item(api.import_modules(), "torch");
  PyObject* spec = torch == nullptr ? nullptr : api.get_attribute(torch, "__spec__");
  if (spec == nullptr) return false;
  // importlib's own mark, which `import` itself relies on (Python/import.c, import_ensure_initialized).
  PyObject* initializing = api.get_attribute(spec, "_initializing");
  const bool done = initializing == nullptr || api.is_true(initializing) == 0;
  if (initializing != nullptr) api.dec_ref(initializing);
  api.dec_ref(spec);
  return done;
}

// FRAME_COUNTER of torch/_dynamo/convert_frame.py (get_compile_id): the frames that it began to compile.
bool dynamo_compiled(const HeldGil& gil, const PythonApi& api) {
  KeepError keep(gil, api);
  PyObject* module = api.dict_item(api.import_modules(), "torch._dynamo.convert_frame");
  if (module == nullptr) return false;
  PyObject* frames = api.get_attribute(module, "FRAME_COUNTER");
  if (frames == nullptr) return true;
  const bool any = api.is_true(frames) != 0;
  api.dec_ref(frames);
  return any;
}

}  // namespace castscope::agent
