#include "agent/casts/rnn_weights.h"

#include <array>
#include <exception>
#include <tuple>
#include <vector>

#include "agent/casts/cast_record.h"
#include "agent/casts/conversion.h"
#include "agent/casts/timed_cast.h"
#include "agent/imports/imports.h"
#include "agent/regions/regions.h"
#include "agent/torch/attention.h"
#include "agent/wiring/features.h"

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

// One weight that the call is about to convert.
struct Weight {
  const TensorImpl* source;
  Counted counted;
  std::uint64_t bytes;  // bytes of its copy
  std::uint8_t flags;   // flags of its event
};
using Weights = memory::OwnVector<Weight>;

CallFacts facts_of(const ThreadState& t, const TensorImpl* source, const Standing& standing, ScalarType to) {
  return {.from = static_cast<std::uint8_t>(dtype_of(source)),
          .to = static_cast<std::uint8_t>(to),
          .device = static_cast<std::uint8_t>(source->device_type()),
          .cause = lanes::Cause::kReflatten,
          .phase = phase_of(lanes::Phase::kForward),
          .why = lanes::WhyNotCached::kNotAutocast,
          .requires_grad = standing.requires_grad,
          .leaf = standing.leaf,
          .view = standing.view,
          .parameter = is_parameter(source, standing),
          .grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode()};
}

bool is_converted(const at::Tensor& weight, ScalarType to) {
  if (!weight.defined()) return false;
  const ScalarType from = dtype_of(weight.unsafeGetTensorImpl());
  return from != to && is_floating(from);
}

// Returns whether some weight has no values; the caller then converts nothing.
bool are_traced(at::TensorList weights) {
  for (const at::Tensor& weight : weights)
    if (weight.defined() && is_traced(weight.unsafeGetTensorImpl())) return true;
  return false;
}

// Names the sites of the weights, before the call. When out of memory, no weight is counted.
Weights converted_weights(ThreadState& t, at::TensorList weights, ScalarType to, const void* caller) try {
  Weights converted;
  if (!is_floating(to) || are_traced(weights)) return converted;
  const auto python = summary_of(t);
  for (const at::Tensor& weight : weights) {
    if (!is_converted(weight, to)) continue;
    const TensorImpl* source = weight.unsafeGetTensorImpl();
    const Standing standing = standing_of(source);
    const CallFacts facts = facts_of(t, source, standing, to);
    const std::uint32_t region = region_in_force(t, facts.device, kAnyRegion);
    const CallKey key{python.hash, reinterpret_cast<std::uint64_t>(caller), facts.pack(), python.module, region};
    const std::uint64_t bytes = bytes_of(weight) / source->itemsize() * c10::elementSize(to);
    converted.push_back({source, find_site(t, key, facts, caller, source), bytes,
                         standing.view || !standing.requires_grad ? lanes::kFlagData : std::uint8_t{0}});
  }
  return converted;
} catch (const std::exception&) {
  return {};
}

// Each weight counts as a cast of its own, so that steps differ by how many casts they had. Nothing measures the time
// between two weights: the time of the call is shared out as evenly as it goes.
void count(ThreadState& t, const Weights& weights, ScalarType to, std::uint64_t begin, std::uint64_t ticks) {
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const std::uint64_t n = weights.size();
  for (std::uint64_t i = 0; i < n; ++i) {
    const Weight& w = weights[i];
    const std::uint64_t before = ticks * i / n, share = ticks * (i + 1) / n - before;
    const std::uint8_t first = flag_of_first(*w.counted.counter);
    lanes::LaneWriter::add(w.counted.counter->casts, 1);
    lanes::LaneWriter::add(w.counted.counter->bytes, w.bytes);
    lanes::LaneWriter::add(w.counted.counter->ticks, share);
    publish(t, r, lanes::EventKind::kCast, w.source, w.counted.site, begin + before, share, w.bytes,
            static_cast<std::uint8_t>(w.flags | first));
    if (deep()) [[unlikely]]
      g_features.cast_was_made(t, w.source, static_cast<std::uint8_t>(to), w.counted.site);
  }
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
  if (!allow_type_change || g_process.stopped.load(std::memory_order_relaxed)) return original();
  ThreadState* t = thread_state();
  if (t == nullptr) return original();
  const ScalarType to = c10::typeMetaToScalarType(buffer.dtype());
  const Weights converted = converted_weights(*t, weights, to, __builtin_return_address(0));
  if (converted.empty()) return original();

  const std::uint64_t begin = t->lane.now();
  // All of them are launched together: where their sites differ, the first one's site has the time on the device.
  const TimingOfCast timed(*t, converted.front().counted.site);
  const Converting now(*t, converted.front().source, to);
  Flattened result = original();
  count(*t, converted, to, begin, t->lane.now() - begin);
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
