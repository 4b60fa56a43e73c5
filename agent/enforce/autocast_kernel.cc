#include "agent/enforce/autocast_kernel.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>

#include "agent/enforce/cast_argument.h"
#include "agent/enforce/present_call.h"
#include "agent/session/arrivals.h"
#include "agent/torch/odd_tensors.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::enforce {
namespace {

using c10::IValue;
using c10::ScalarType;

// Whether the policy says that this argument is never cast.
bool is_kept(const c10::OperatorHandle& op, const Decision& decision, std::size_t position) {
  if (decision.never[0] == nullptr && decision.never[1] == nullptr) return false;
  const std::string& name = op.schema().arguments()[position].name();
  return std::any_of(decision.never.begin(), decision.never.end(), [&](const std::vector<std::string>* names) {
    return names != nullptr && std::find(names->begin(), names->end(), name) != names->end();
  });
}

template <typename Visit>
void each_tensor(const IValue& value, Visit visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  }
}

// The overload that takes a dtype as one more argument: norm.Scalar → norm.ScalarOpt_dtype.
std::optional<c10::OperatorHandle> with_dtype(const c10::OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name != op.operator_name().name) continue;
    const auto other = dispatcher.findSchema(name);
    if (!other) continue;
    const auto& more = other->schema().arguments();
    if (more.size() != arguments.size() + 1 || more.back().name() != "dtype") continue;
    const auto same = [](const c10::Argument& a, const c10::Argument& b) {
      return a.name() == b.name() && a.alias_info() == nullptr && b.alias_info() == nullptr;
    };
    if (std::equal(arguments.begin(), arguments.end(), more.begin(), same)) return other;
  }
  return std::nullopt;
}

}  // namespace

c10::DispatchKey autocast_key(Device device) {
  constexpr std::array<c10::DispatchKey, 4> keys = {c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA,
                                                    c10::DispatchKey::AutocastXPU, agent::autocast_key_of_mps()};
  return keys[static_cast<std::size_t>(device)];
}

c10::DeviceType device_type(Device device) {
  constexpr std::array<c10::DeviceType, 4> types = {c10::DeviceType::CPU, c10::DeviceType::CUDA, c10::DeviceType::XPU,
                                                    c10::DeviceType::MPS};
  return types[static_cast<std::size_t>(device)];
}

void Kernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const Decision& decision = plan_.decide(plan_.depends_on_module() ? module_rule() : -1);
  if (decision.policy == CastPolicy::kPassthrough && !decision.ruled)  // as for an operator without a kernel
    return op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, autocast_key(device_)),
                              stack);
  c10::impl::ExcludeDispatchKeyGuard no_autocast(autocast_key(device_));
  switch (decision.policy) {
    case CastPolicy::kPassthrough:
      break;
    case CastPolicy::kBanned:
      C10_THROW_ERROR(Error, decision.message == nullptr || decision.message->empty()
                                 ? op_ + " is banned under autocast by the policy"
                                 : *decision.message);
    case CastPolicy::kLowerPrecision:
      cast(op, stack, decision, lower_dtype(decision.dtype, device_type(device_)));
      break;
    case CastPolicy::kFp32:
      cast(op, stack, decision, ScalarType::Float);
      break;
    case CastPolicy::kPromote:
      cast(op, stack, decision, widest(op, *stack, decision));
      break;
    case CastPolicy::kFp32SetOptDtype:
      set_dtype(op, stack);
      break;
    case CastPolicy::kFp32AppendDtype:
      if (call_with_dtype(op, stack)) return;
      set_dtype(op, stack);  // the operator may take a dtype itself
      break;
  }
  op.callBoxed(stack);
}

void Kernel::cast(const c10::OperatorHandle& op, Stack* stack, const Decision& decision, ScalarType to) const {
  const std::size_t n = op.schema().arguments().size();
  for (std::size_t position = n; position-- > 0;) {
    IValue& value = torch::jit::peek(*stack, position, n);
    if (is_kept(op, decision, position))
      tell_kept(value, op.schema().arguments()[position].name(), to);
    else
      cast_value(value, to, position);
  }
}

// For the report: the argument came in this dtype, and a cast was held off, or none was due.
void Kernel::tell_kept(const IValue& value, const std::string& argument, ScalarType to) const {
  each_tensor(value, [&](const at::Tensor& tensor) {
    if (!is_eligible(tensor) || agent::is_traced_wrapper(tensor.unsafeGetTensorImpl())) return;
    const unsigned held_off = tensor.scalar_type() != to ? lanes::kArrivedHeldOff : 0;
    const unsigned detail = static_cast<std::uint8_t>(tensor.scalar_type()) | lanes::kArrivedKept | held_off |
                            unsigned{lanes::kArrivedNotCast} << lanes::kArrivedCastTo;
    agent::argument_arrived(agent::MayWait::before_original(), op_ + "\t" + argument + "\tpolicy",
                            static_cast<std::uint16_t>(detail));
  });
}

void Kernel::cast_value(IValue& value, ScalarType to, std::size_t position) const {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    at::Tensor result = cast_argument(to, tensor, device_type(device_), site(position));
    if (!result.is_same(tensor)) value = std::move(result);
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> results;  // the caller may still have the list
    for (const at::Tensor& tensor : value.toTensorVector())
      results.push_back(tensor.defined() ? cast_argument(to, tensor, device_type(device_), site(position)) : tensor);
    value = std::move(results);
  }
}

bool Kernel::is_eligible(const at::Tensor& tensor) const {
  if (!tensor.defined() || !agent::may_autocast(tensor.scalar_type())) return false;
  switch (device_) {
    case Device::kCpu:
      return tensor.is_cpu() || tensor.is_mkldnn();
    case Device::kCuda:
      return tensor.is_cuda() || tensor.is_xla();
    default:
      return tensor.device().type() == device_type(device_);
  }
}

// at::autocast::prioritize, over all arguments except those that are never cast.
ScalarType Kernel::widest(const c10::OperatorHandle& op, const Stack& stack, const Decision& decision) const {
  ScalarType widest = lower_dtype(decision.dtype, device_type(device_));
  const ScalarType lower = widest;
  const std::size_t n = op.schema().arguments().size();
  for (std::size_t position = 0; position < n; ++position) {
    if (is_kept(op, decision, position)) continue;
    each_tensor(torch::jit::peek(stack, position, n), [&](const at::Tensor& tensor) {
      if (!is_eligible(tensor)) return;
      const ScalarType next = tensor.scalar_type();
      if (widest == ScalarType::Float || next == ScalarType::Float)
        widest = ScalarType::Float;
      else if (next != lower)
        C10_THROW_ERROR(Error, "Unexpected floating ScalarType in at::autocast::prioritize");
    });
  }
  return widest;
}

// Sets it only where the caller gave none, and the first argument is of a kind that autocast may cast.
void Kernel::set_dtype(const c10::OperatorHandle& op, Stack* stack) const {
  const auto& arguments = op.schema().arguments();
  const IValue& first = torch::jit::peek(*stack, 0, arguments.size());
  if (!first.isTensor() || !is_eligible(first.toTensor())) return;
  for (std::size_t position = 0; position < arguments.size(); ++position) {
    if (arguments[position].name() != "dtype") continue;
    IValue& dtype = torch::jit::peek(*stack, position, arguments.size());
    if (dtype.isNone()) dtype = static_cast<std::int64_t>(ScalarType::Float);
  }
}

bool Kernel::call_with_dtype(const c10::OperatorHandle& op, Stack* stack) const {
  std::call_once(looked_, [&] { with_dtype_ = with_dtype(op); });
  const IValue& first = torch::jit::peek(*stack, 0, op.schema().arguments().size());
  if (!with_dtype_ || !first.isTensor()) return false;
  const ScalarType dtype = is_eligible(first.toTensor()) ? ScalarType::Float : first.toTensor().scalar_type();
  torch::jit::push(*stack, static_cast<std::int64_t>(dtype));
  with_dtype_->callBoxed(stack);
  return true;
}

}  // namespace castscope::enforce
