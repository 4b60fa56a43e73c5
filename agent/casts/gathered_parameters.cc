// FSDP (fully_shard) casts the parameters of a module while it copies them into the buffer that it gathers from all
// ranks: one call of _foreach_copy_, which converts as it copies (torch/distributed/fsdp/_fully_shard). Other code that
// copies between dtypes is not counted: it does not make a copy to compute with.
#include <exception>

#include "agent/casts/casts_of_one_call.h"
#include "agent/casts/conversion.h"
#include "agent/casts/hooks.h"
#include "agent/casts/timed_cast.h"
#include "agent/regions/regions.h"
#include "agent/session/call_stack.h"
#include "agent/torch/originals.h"
#include "agent/torch/torch_python.h"

namespace castscope::agent {
namespace {

using ForeachCopy = void (*)(at::TensorList to, at::TensorList from, bool non_blocking);

bool converts(const at::Tensor& to, const at::Tensor& from) {
  if (!to.defined() || !from.defined() || is_traced(from.unsafeGetTensorImpl())) return false;
  return is_converted(from, dtype_of(to.unsafeGetTensorImpl()));
}

bool converts_any(at::TensorList to, at::TensorList from) {
  if (to.size() != from.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (converts(to[i], from[i])) return true;
  return false;
}

bool is_called_by_fsdp(const MayWait& may_wait, const ThreadState& t) {
  if (!g_process.has_python) return false;
  Definitions& definitions = g_process.recording.load(std::memory_order_relaxed)->definitions;
  RawStack raw;
  capture_stack(t, raw);
  definitions.stack(may_wait, raw);  // names its code
  return definitions.passes_through(raw, [](const Definitions::Place& at) { return is_fsdp(at.file); });
}

// Names the sites of the parameters, before the call. When out of memory, no parameter is counted.
ConvertedTensors gathered(const MayWait& may_wait, ThreadState& t, at::TensorList to, at::TensorList from,
                          const void* caller) try {
  ConvertedTensors converted;
  if (!is_called_by_fsdp(may_wait, t)) return converted;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!converts(to[i], from[i])) continue;
    const auto device = static_cast<std::uint8_t>(from[i].device().type());
    const bool none = t.open.empty() && t.enabled_by_raw[device % 32] != 1;
    converted.push_back(converted_tensor(t, from[i], dtype_of(to[i].unsafeGetTensorImpl()), lanes::Cause::kFsdp,
                                         none ? 0 : region_of_conversion(t, device), caller));
  }
  return converted;
} catch (const std::exception&) {
  return {};
}

void foreach_copy(at::TensorList to, at::TensorList from, bool non_blocking) {
  const auto original_copy = original<ForeachCopy>(CASTSCOPE_HOOK_FOREACH_COPY);
  ThreadState* const t = converts_any(to, from) ? thread_state() : nullptr;
  if (t == nullptr) return original_copy(to, from, non_blocking);
  const ConvertedTensors converted = gathered(MayWait::before_original(), *t, to, from, __builtin_return_address(0));
  if (converted.empty()) return original_copy(to, from, non_blocking);
  const std::uint64_t begin = t->lane.now();
  // All of them are launched together: where their sites differ, the first one's site has the time on the device.
  const TimingOfCast timed(*t, converted.front().counted.site);
  const Converting now(*t, converted.front().source, converted.front().to);
  original_copy(to, from, non_blocking);
  count_converted(*t, converted, begin, t->lane.now() - begin);
}

}  // namespace

void* foreach_copy_hook(castscope_hook hook) {
  return hook == CASTSCOPE_HOOK_FOREACH_COPY ? reinterpret_cast<void*>(&foreach_copy) : nullptr;
}

}  // namespace castscope::agent
