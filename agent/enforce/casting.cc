#include "agent/enforce/casting.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include "agent/enforce/enforced.h"
#include "agent/enforce/kernel_registry.h"
#include "agent/enforce/present_call.h"
#include "agent/torch/originals.h"

namespace castscope::enforce {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::ScalarType;
using c10::TensorImpl;

// Whether the tensor is on the CPU and nothing but memory: no wrapper, subclass, lazy conjugate or anything else that
// has a dispatch key, and no forward-mode gradient.
bool is_plain(const TensorImpl* t) {
  static const std::uint64_t plain = DispatchKeySet({DispatchKey::CPU, DispatchKey::AutogradCPU,
                                                     DispatchKey::ADInplaceOrView, DispatchKey::AutocastCPU})
                                         .raw_repr();
  if ((t->key_set().raw_repr() | plain) != plain) return false;
  if (!t->key_set().has(DispatchKey::ADInplaceOrView)) return false;  // an inference tensor has no version counter
  const auto* meta = agent::autograd_meta(t);
  return meta == nullptr || meta->fw_grad_ == nullptr;
}

// Whether nothing looks at operators or changes them: no mode, no functorch level, no tracer.
bool is_undisturbed(bool inference_mode) {
  static const std::uint64_t usual =
      DispatchKeySet({DispatchKey::BackendSelect, DispatchKey::ADInplaceOrView}).raw_repr();
  const c10::impl::LocalDispatchKeySet tls = c10::impl::tls_local_dispatch_key_set();
  if ((agent::bits_of(tls.included_) | usual) != usual) return false;
  return inference_mode || !tls.excluded_.has_any(c10::autograd_dispatch_keyset);
}

// Switches PyTorch's cache off for this call: the policy wants no cache.
class NoCache {
 public:
  NoCache() { set(false); }
  ~NoCache() { set(true); }
  NoCache(const NoCache&) = delete;
  NoCache& operator=(const NoCache&) = delete;

 private:
  static void set(bool on) { agent::original<void (*)(bool)>(CASTSCOPE_HOOK_SET_AUTOCAST_CACHE_ENABLED)(on); }
};

std::optional<Device> device_of(c10::DeviceType type) {
  switch (type) {
    case c10::DeviceType::CPU:
      return Device::kCpu;
    case c10::DeviceType::CUDA:
      return Device::kCuda;
    case c10::DeviceType::XPU:
      return Device::kXpu;
    case c10::DeviceType::MPS:
      return Device::kMps;
    default:
      return std::nullopt;
  }
}

// Whether the policy has the cache off, if it says anything of this device.
bool wants_no_cache(c10::DeviceType device) {
  if (g_enforced->cache.keeping.enabled) return false;
  const std::optional<Device> on = device_of(device);
  return g_enforced->policy.is_for(on ? kDeviceWords[static_cast<std::size_t>(*on)] : "");
}

at::Tensor pytorchs(ScalarType to, const at::Tensor& arg, c10::DeviceType device) {
  return agent::original<agent::CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
}

// Within a region, a weight has one copy with one place in the graph, as in PyTorch's cache, whoever made the copy.
at::Tensor shared(ScalarType to, const at::Tensor& arg, c10::DeviceType device, Outcome& outcome) {
  if (at::Tensor copy = g_enforced->copies->served(arg, to); copy.defined()) return copy;
  at::Tensor made = pytorchs(to, arg, device);
  outcome.kept = made.defined() && is_plain(made.unsafeGetTensorImpl()) && made.requires_grad();
  if (outcome.kept) g_enforced->copies->adopt(arg, to, made);
  return made;
}

}  // namespace

// Only copies of float32, in a lower precision, on the CPU are kept.
Kind kind_of_cast(const at::Tensor& arg, ScalarType to, c10::DeviceType device, const Source& source) {
  const TensorImpl* t = arg.unsafeGetTensorImpl();
  if (device != c10::DeviceType::CPU || !g_enforced->on_cpu || agent::dtype_of(t) != ScalarType::Float ||
      c10::elementSize(to) >= sizeof(float))
    return Kind::kNone;
  const Kind kind = kind_of(source, g_enforced->cache.keeping);
  if (kind == Kind::kNone || !is_plain(t)) return Kind::kNone;
  if (is_undisturbed(source.inference_mode)) return kind;
  return kind == Kind::kLeaf ? Kind::kShared : Kind::kNone;
}

lanes::WhyNotCached why_not_kept(lanes::WhyNotCached pytorchs, Kind kind, c10::DeviceType device) {
  using lanes::WhyNotCached;
  if (kind != Kind::kNone) return WhyNotCached::kNone;
  const bool off = pytorchs == WhyNotCached::kNone && wants_no_cache(device);
  return off ? WhyNotCached::kCacheDisabled : pytorchs;
}

at::Tensor cached_cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device, const Source& source, Kind kind,
                       Outcome& outcome) {
  if (kind == Kind::kShared) return shared(to, arg, device, outcome);
  if (kind != Kind::kNone)
    if (at::Tensor copy = g_enforced->copies->cast(arg, to, kind, source, outcome); copy.defined()) return copy;
  if (!source.cache_enabled || !wants_no_cache(device)) return pytorchs(to, arg, device);
  const NoCache off;
  return pytorchs(to, arg, device);
}

at::Tensor cached_cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device) {
  const TensorImpl* t = arg.unsafeGetTensorImpl();
  const ScalarType from = agent::dtype_of(t);
  if (!arg.defined() || from == to || !agent::may_autocast(from)) return arg;
  const c10::AutogradState& autograd = c10::AutogradState::get_tls_state();
  const agent::Standing standing = agent::standing_of(t);
  const Source source{standing, agent::is_parameter(t, standing), autograd.get_grad_mode(),
                      autograd.get_inference_mode(), at::autocast::is_autocast_cache_enabled()};
  Outcome outcome;
  return cached_cast(to, arg, device, source, kind_of_cast(arg, to, device, source), outcome);
}

at::Tensor cached_cast_from(const void* return_address, ScalarType to, const at::Tensor& arg, c10::DeviceType device) {
  const OperatorPlan* plan = plan_of_call(return_address);
  return cached_cast(plan == nullptr ? to : target(*plan, to, arg, device), arg, device);
}

ScalarType target(const OperatorPlan& plan, ScalarType asked, const at::Tensor& arg, c10::DeviceType device) {
  const std::optional<Device> on = device_of(device);
  if (!on || !plan.applies_to(*on)) return asked;
  const Decision& decision = plan.decide(plan.depends_on_module() ? module_rule() : -1);
  switch (decision.policy) {
    case CastPolicy::kLowerPrecision:
      return lower_dtype(decision.dtype, device);
    case CastPolicy::kFp32:
      return ScalarType::Float;
    case CastPolicy::kPassthrough:
      return arg.defined() ? agent::dtype_of(arg.unsafeGetTensorImpl()) : asked;
    default:
      return asked;  // PyTorch's kernel does that by itself
  }
}

}  // namespace castscope::enforce
