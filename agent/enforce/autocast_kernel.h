// An autocast kernel of ours: one boxed function for any operator.
//
// It casts from the last argument to the first, as PyTorch's kernels do where GCC compiled them: the nodes that casts
// make in autograd's graph come in that order, and with it the order in which gradients are summed.
//
// Sources: aten/src/ATen/autocast_mode.{h,cpp} (WrapFunction_, prioritize, is_eligible), ATen/core/boxing of the
// PyTorch that the agent is built against.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "agent/enforce/decided/decisions.h"

namespace castscope::enforce {

c10::DispatchKey autocast_key(Device);  // Undefined when this PyTorch has no autocast on the device
c10::DeviceType device_type(Device);

class alignas(64) Kernel final : public c10::OperatorKernel {
 public:
  Kernel(const OperatorPlan& plan, std::string op, Device device) : plan_(plan), op_(std::move(op)), device_(device) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack);

  // The number that takes the part of an argument's call site: the argument's own address within this kernel.
  static constexpr std::size_t kMostArguments = 64;
  std::uint64_t site(std::size_t position) const {
    return reinterpret_cast<std::uint64_t>(this) + (position < kMostArguments ? position : kMostArguments - 1);
  }
  const std::string& op() const { return op_; }

 private:
  using Stack = torch::jit::Stack;
  void cast(const c10::OperatorHandle& op, Stack* stack, const Decision& decision, c10::ScalarType to) const;
  void cast_value(c10::IValue& value, c10::ScalarType to, std::size_t position) const;
  void tell_kept(const c10::IValue& value, const std::string& argument, c10::ScalarType to) const;
  c10::ScalarType widest(const c10::OperatorHandle& op, const Stack& stack, const Decision& decision) const;
  bool is_eligible(const at::Tensor& tensor) const;
  void set_dtype(const c10::OperatorHandle& op, Stack* stack) const;
  bool call_with_dtype(const c10::OperatorHandle& op, Stack* stack) const;

  const OperatorPlan& plan_;
  const std::string op_;  // "aten::sum.dim_IntList"
  const Device device_;
  mutable std::once_flag looked_;
  mutable std::optional<c10::OperatorHandle> with_dtype_;  // the overload that takes a dtype as one more argument
};
static_assert(sizeof(Kernel) >= Kernel::kMostArguments);

}  // namespace castscope::enforce
