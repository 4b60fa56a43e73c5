#include "agent/enforce/kernel_registry.h"

#include <c10/util/Exception.h>
#include <unwind.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "agent/enforce/autocast_kernel.h"
#include "agent/enforce/met_rules.h"
#include "agent/torch/torch_seam.h"

namespace castscope::enforce {
namespace {

constexpr std::array<Device, 4> kDevices = {Device::kCpu, Device::kCuda, Device::kXpu, Device::kMps};

std::string text_of(const Overloaded& op) { return op.second == "default" ? op.first : op.first + "." + op.second; }
c10::OperatorName name_of(const Overloaded& op) { return {op.first, op.second == "default" ? "" : op.second}; }
Overloaded overloaded(const c10::OperatorName& name) {
  return {name.name, name.overload_name.empty() ? "default" : name.overload_name};
}

// Whether the operator neither writes into an argument nor returns a view of one: a write would be lost with the copy.
bool may_be_cast(const c10::FunctionSchema& schema) {
  const auto plain = [](const c10::Argument& a) { return a.alias_info() == nullptr; };
  return std::all_of(schema.arguments().begin(), schema.arguments().end(), plain) &&
         std::all_of(schema.returns().begin(), schema.returns().end(), plain);
}

// PyTorch's kernels for operators that take a list share a helper, whose address names no operator.
bool takes_list(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(),
                     [](const c10::Argument& a) { return a.type()->isSubtypeOf(*c10::ListType::ofTensors()); });
}

// "vision::roi_pool input rois": the names that a never_cast rule may use for it.
std::string with_tensors(const c10::FunctionSchema& schema) {
  std::string text = schema.name();
  for (const c10::Argument& a : schema.arguments())
    if (a.type()->str().find("Tensor") != std::string::npos) text += " " + a.name();
  return text;
}

// Registering a second kernel makes PyTorch warn, once in a process. The policy asked for this kernel, so the warning
// is silenced; later overrides by the user still warn.
class Silence final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

class Registry {
 public:
  Registry(const PolicyTable& policy, bool all_kernels) : policy_(policy), all_(all_kernels) {
    for (const Overloaded& op : operators_of(policy)) asked_[op.first].insert(op.second);
    for (const agent::AutocastKernel& kernel : agent::autocast_kernels()) {
      addressed_.emplace(kernel.op);
      functions_.emplace(kernel.function, kernel.op);
    }
  }

  void meet_all() {
    std::lock_guard lock(mutex_);
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) meet(name);
  }

  // Operators by others than PyTorch, whose own are all there from the start.
  void meet_others() {
    std::lock_guard lock(mutex_);
    for (const auto& [op, overloads] : asked_) {
      if (op.starts_with("aten::")) continue;
      for (const c10::OperatorName& name : names_of(op, overloads)) meet(name);
    }
  }
  bool has_others() const {
    return std::any_of(asked_.begin(), asked_.end(), [](const auto& op) { return !op.first.starts_with("aten::"); });
  }

  std::vector<std::string> missing() {
    std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    const std::vector<c10::OperatorName> there = c10::Dispatcher::singleton().getAllOpNames();
    for (const Overloaded& op : said_by_policy()) {
      if (!op.first.starts_with("aten::")) continue;  // it may be registered later
      const auto is_it = [&](const c10::OperatorName& name) {
        return name.name == op.first && (op.second.empty() || overloaded(name).second == op.second);
      };
      if (std::none_of(there.begin(), there.end(), is_it))
        all.push_back("this PyTorch has no operator " + (op.second.empty() ? op.first : op.first + "." + op.second) +
                      ": the policy's rule for it has no effect");
    }
    return all;
  }

  const OperatorPlan* of_call(const void* return_address) {
    // A call may be the last instruction of its function: ask for the byte before.
    void* const call = const_cast<void*>(return_address);
    const auto function = functions_.find(reinterpret_cast<std::uintptr_t>(_Unwind_FindEnclosingFunction(call)));
    if (function == functions_.end()) return nullptr;
    std::lock_guard lock(mutex_);
    const auto found = plans_.find(function->second);
    return found == plans_.end() || !found->second.by_address ? nullptr : found->second.plan.get();
  }

  std::optional<KernelArgument> argument(std::uint64_t site) {
    std::lock_guard lock(mutex_);
    const auto after = kernels_.upper_bound(site);
    if (after == kernels_.begin()) return std::nullopt;
    const auto& [address, kernel] = *std::prev(after);
    if (site >= address + Kernel::kMostArguments) return std::nullopt;
    return KernelArgument{kernel->op(), static_cast<std::uint32_t>(site - address)};
  }

 private:
  struct Planned {
    Overloaded op;
    std::unique_ptr<OperatorPlan> plan;
    bool by_address = false;
    std::map<Device, const Kernel*> kernels;
  };

  std::vector<c10::OperatorName> names_of(const std::string& op, const std::set<std::string>& overloads) const {
    std::vector<c10::OperatorName> names;
    if (!overloads.contains("")) {
      for (const std::string& overload : overloads) names.push_back(name_of({op, overload}));
      return names;
    }
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
      if (name.name == op) names.push_back(name);
    return names;
  }

  std::vector<Overloaded> said_by_policy() const {
    std::set<Overloaded> said;
    for (const OperatorTable& table : policy_.tables)
      for (const auto& [op, rule] : table.operators) said.insert(op);
    return {said.begin(), said.end()};
  }

  void meet(const c10::OperatorName& name) {
    const auto asked = asked_.find(name.name);
    const Overloaded op = overloaded(name);
    if (asked == asked_.end() || (!asked->second.contains("") && !asked->second.contains(op.second))) return;
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle || !may_be_cast(handle->schema())) return;
    const bool of_others = !op.first.starts_with("aten::");
    if (of_others) rule_met("operator", op.first);
    Planned& planned = plans_[text_of(op)];
    if (planned.plan == nullptr) {
      planned = {op, std::make_unique<OperatorPlan>(policy_, op), false, {}};
      if (of_others && planned.plan->has_exceptions()) rule_met("arguments", with_tensors(handle->schema()));
    }
    for (const Device device : kDevices) decide(planned, *handle, device);
  }

  void decide(Planned& planned, const c10::OperatorHandle& handle, Device device) {
    const OperatorPlan& plan = *planned.plan;
    if (!plan.applies_to(device) || autocast_key(device) == c10::DispatchKey::Undefined) return;
    const bool has_kernel = handle.hasKernelForDispatchKey(autocast_key(device));
    if (const auto ours = planned.kernels.find(device); ours != planned.kernels.end()) {
      const auto key = static_cast<std::uint16_t>(autocast_key(device));
      if (agent::kernel_in_force(text_of(planned.op), key) != ours->second) put(planned, device);  // not any more
      return;
    }
    By who = plan.who(device, has_kernel);
    const std::string text = text_of(planned.op);
    if (who == By::kAddress && (takes_list(handle.schema()) || !addressed_.contains(text))) who = By::kKernel;
    if (all_ && (has_kernel || who != By::kPyTorch)) who = By::kKernel;
    if (who == By::kAddress) planned.by_address = true;
    if (who == By::kKernel) put(planned, device);
  }

  void put(Planned& planned, Device device) {
    auto kernel = std::make_unique<Kernel>(*planned.plan, text_of(planned.op), device);
    const Kernel* at = planned.kernels[device] = kernel.get();
    kernels_[kernel->site(0)] = at;
    static Silence silence;
    const c10::WarningUtils::WarningHandlerGuard guard(&silence);
    registered_.push_back(c10::Dispatcher::singleton().registerImpl(
        name_of(planned.op), autocast_key(device), c10::KernelFunction::makeFromBoxedFunctor(std::move(kernel)),
        std::nullopt, nullptr, "castscope, by the policy " + policy_.name));
  }

  const PolicyTable& policy_;
  const bool all_;
  std::unordered_map<std::string, std::set<std::string>> asked_;  // operator → overloads, "" = all others
  std::unordered_map<std::uintptr_t, std::string> functions_;     // addresses of PyTorch's kernels → operator
  std::unordered_set<std::string> addressed_;                     // operators that the address of a call names
  std::mutex mutex_;
  std::map<std::string, Planned> plans_;            // by "aten::sum.dim_IntList"
  std::map<std::uint64_t, const Kernel*> kernels_;  // by address
  std::vector<c10::RegistrationHandleRAII> registered_;
};

Registry* g_registry = nullptr;  // never taken down

}  // namespace

void start_kernels(const PolicyTable& policy, bool all_kernels) {
  g_registry = new Registry(policy, all_kernels);
  g_registry->meet_all();
}

void look_for_operators() {
  if (g_registry->has_others()) g_registry->meet_others();
}

std::vector<std::string> kernel_notices() { return g_registry->missing(); }
const OperatorPlan* plan_of_call(const void* return_address) { return g_registry->of_call(return_address); }
std::optional<KernelArgument> kernel_argument(std::uint64_t site) { return g_registry->argument(site); }

}  // namespace castscope::enforce
