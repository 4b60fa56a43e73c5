#include "agent/casts/rnn_weights.h"

#include <array>
#include <exception>
#include <tuple>
#include <vector>

#include "agent/casts/casts_of_one_call.h"
#include "agent/casts/conversion.h"
#include "agent/casts/timed_cast.h"
#include "agent/imports/imports.h"
#include "agent/regions/regions.h"

namespace castscope::agent {
namespace {

// at::native::cudnn_rnn::copy_weights_to_flat_buf_views (ATen/native/cudnn/RNNUtils.h, which needs cuDNN's headers).
using Flattened = std::tuple<at::Tensor, std::vector<at::Tensor>>;
using CudnnDataType = int;  // an enum
using Flatten = Flattened (*)(at::TensorList weights, std::int64_t stride, std::int64_t input_size, std::int64_t mode,
                              std::int64_t hidden_size, std::int64_t proj_size, std::int64_t layers, bool batch_first,
                              bool bidirectional, CudnnDataType buffer_type, const at::TensorOptions& buffer,
                              bool set_weights_to_buffer, bool allow_type_change, bool include_bias);

extern std::array<imports::Import, 1> g_imports;

// The kernel converts to float16 in any region: the dtype does not tell which region is in force.
constexpr auto kAnyRegion = static_cast<std::uint8_t>(ScalarType::Undefined);

// Returns whether some weight has no values; the caller then converts nothing.
bool are_traced(at::TensorList weights) {
  for (const at::Tensor& weight : weights)
    if (weight.defined() && is_traced(weight.unsafeGetTensorImpl())) return true;
  return false;
}

// Names the sites of the weights, before the call. When out of memory, no weight is counted.
ConvertedTensors converted_weights(ThreadState& t, at::TensorList weights, ScalarType to, const void* caller) try {
  ConvertedTensors converted;
  if (!is_floating(to) || are_traced(weights)) return converted;
  for (const at::Tensor& weight : weights) {
    if (!is_converted(weight, to)) continue;
    const auto device = static_cast<std::uint8_t>(weight.device().type());
    const std::uint32_t region = region_in_force(t, device, kAnyRegion);
    converted.push_back(converted_tensor(t, weight, to, lanes::Cause::kReflatten, region, caller));
  }
  return converted;
} catch (const std::exception&) {
  return {};
}

Flattened flatten(at::TensorList weights, std::int64_t stride, std::int64_t input_size, std::int64_t mode,
                  std::int64_t hidden_size, std::int64_t proj_size, std::int64_t layers, bool batch_first,
                  bool bidirectional, CudnnDataType buffer_type, const at::TensorOptions& buffer,
                  bool set_weights_to_buffer, bool allow_type_change, bool include_bias) {
  const auto original = [&] {
    return reinterpret_cast<Flatten>(imports::original_of(g_imports[0]))(
        weights, stride, input_size, mode, hidden_size, proj_size, layers, batch_first, bidirectional, buffer_type,
        buffer, set_weights_to_buffer, allow_type_change, include_bias);
  };
  // Without allow_type_change the caller is flatten_parameters, which copies the weights as they are.
  if (!allow_type_change || g_process.silent()) return original();
  ThreadState* t = thread_state();
  if (t == nullptr) return original();
  const ScalarType to = c10::typeMetaToScalarType(buffer.dtype());
  const ConvertedTensors converted = converted_weights(*t, weights, to, __builtin_return_address(0));
  if (converted.empty()) return original();

  const std::uint64_t begin = t->lane.now();
  // All of them are launched together: where their sites differ, the first one's site has the time on the device.
  const TimingOfCast timed(*t, converted.front().counted.site);
  const Converting now(*t, converted.front().source, to);
  Flattened result = original();
  count_converted(*t, converted, begin, t->lane.now() - begin);
  return result;
}

std::array<imports::Import, 1> g_imports{
    {{.symbol = "_ZN2at6native9cudnn_rnn30copy_weights_to_flat_buf_viewsEN3c108ArrayRefINS_6TensorEEEllllllbb"
                "15cudnnDataType_tRKNS2_13TensorOptionsEbbb",
      .ours = reinterpret_cast<void*>(flatten),
      .own_calls = true}}};

}  // namespace

void watch_rnn_weights() {
  static auto* taken = new imports::Imports(g_imports);  // never given back: a call may be on its way
  taken->take();
}

}  // namespace castscope::agent
