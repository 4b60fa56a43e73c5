#include "agent/casts/casts_of_one_call.h"

#include "agent/casts/cast_record.h"
#include "agent/torch/attention.h"
#include "agent/wiring/features.h"

namespace castscope::agent {

bool is_converted(const at::Tensor& tensor, ScalarType to) {
  if (!tensor.defined() || !is_floating(to)) return false;
  const ScalarType from = dtype_of(tensor.unsafeGetTensorImpl());
  return from != to && is_floating(from);
}

ConvertedTensor converted_tensor(ThreadState& t, const at::Tensor& tensor, ScalarType to, lanes::Cause cause,
                                 std::uint32_t region, const void* caller) {
  const auto python = summary_of(t);
  const TensorImpl* source = tensor.unsafeGetTensorImpl();
  const Standing standing = standing_of(source);
  const CallFacts facts{.from = static_cast<std::uint8_t>(dtype_of(source)),
                        .to = static_cast<std::uint8_t>(to),
                        .device = static_cast<std::uint8_t>(source->device_type()),
                        .cause = cause,
                        .phase = phase_of(region == 0 ? lanes::Phase::kOther : lanes::Phase::kForward),
                        .why = lanes::WhyNotCached::kNotAutocast,
                        .requires_grad = standing.requires_grad,
                        .leaf = standing.leaf,
                        .view = standing.view,
                        .parameter = is_parameter(source, standing),
                        .grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode()};
  const CallKey key{python.hash, reinterpret_cast<std::uint64_t>(caller), facts.pack(), python.module, region};
  const std::uint64_t bytes = bytes_of(tensor) / source->itemsize() * c10::elementSize(to);
  return {source, to, find_site(t, key, facts, caller, source), bytes,
          standing.view || !standing.requires_grad ? lanes::kFlagData : std::uint8_t{0}};
}

void count_converted(ThreadState& t, const ConvertedTensors& tensors, std::uint64_t begin, std::uint64_t ticks) {
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const std::uint64_t n = tensors.size();
  for (std::uint64_t i = 0; i < n; ++i) {
    const ConvertedTensor& one = tensors[i];
    const std::uint64_t before = ticks * i / n, share = ticks * (i + 1) / n - before;
    const std::uint8_t first = flag_of_first(*one.counted.counter);
    lanes::LaneWriter::add(one.counted.counter->casts, 1);
    lanes::LaneWriter::add(one.counted.counter->bytes, one.bytes);
    lanes::LaneWriter::add(one.counted.counter->ticks, share);
    publish(t, r, lanes::EventKind::kCast, one.source, one.counted.site, begin + before, share, one.bytes,
            static_cast<std::uint8_t>(one.flags | first));
    if (deep()) [[unlikely]]
      g_features.cast_was_made(t, one.source, static_cast<std::uint8_t>(one.to), one.counted.site);
  }
}

}  // namespace castscope::agent
