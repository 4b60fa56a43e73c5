#include "agent/torch/torch_seam.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <pthread.h>
#include <torch/version.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "agent/memory/own_memory.h"
#include "agent/torch/record_inputs.h"

namespace castscope::agent {
namespace {

// Private members that the dispatcher's public interface does not lead to. An explicit instantiation may name them
// (access is not checked there), and fails to compile where a version names them otherwise.
template <typename Tag, auto Member>
struct Expose {
  friend constexpr auto member(Tag) { return Member; }
};
struct OperatorDefOf {
  friend constexpr auto member(OperatorDefOf);
};
struct BoxedOf {
  friend constexpr auto member(BoxedOf);
};
struct UnboxedFunctionOf {
  friend constexpr auto member(UnboxedFunctionOf);
};
struct FunctorOf {
  friend constexpr auto member(FunctorOf);
};
struct BoxedFunctionOf {
  friend constexpr auto member(BoxedFunctionOf);
};
template struct Expose<OperatorDefOf, &c10::OperatorHandle::operatorDef_>;
template struct Expose<BoxedOf, &c10::KernelFunction::boxed_kernel_func_>;
template struct Expose<UnboxedFunctionOf, &c10::KernelFunction::unboxed_kernel_func_>;
template struct Expose<FunctorOf, &c10::BoxedKernel::functor_>;
template struct Expose<BoxedFunctionOf, &c10::BoxedKernel::boxed_kernel_func_>;

// WrapFunctionIntoRuntimeFunctor_ holds the kernel's address behind the vtable and the two counts of
// intrusive_ptr_target. Other functors have something else there, so the word is used only if a function starts at it.
constexpr std::size_t kRuntimeFunctorFunction = sizeof(void*) + sizeof(std::uint64_t);

bool is_function_start(std::uintptr_t address) {
  if (address < 4096) return false;
  auto* enclosing = _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(address + 1));
  return reinterpret_cast<std::uintptr_t>(enclosing) == address;
}

memory::OwnVector<std::uintptr_t> functions_of(const c10::KernelFunction& kernel) {
  memory::OwnVector<std::uintptr_t> functions;
  const c10::BoxedKernel& boxed = kernel.*member(BoxedOf{});
  functions.push_back(reinterpret_cast<std::uintptr_t>(boxed.*member(BoxedFunctionOf{})));
  functions.push_back(reinterpret_cast<std::uintptr_t>(kernel.*member(UnboxedFunctionOf{})));
  const auto& functor = boxed.*member(FunctorOf{});
  if (functor.defined()) {
    std::uintptr_t inner = 0;
    std::memcpy(&inner, reinterpret_cast<const char*>(functor.get()) + kRuntimeFunctorFunction, sizeof inner);
    if (is_function_start(inner)) functions.push_back(inner);
  }
  functions.erase(std::remove(functions.begin(), functions.end(), std::uintptr_t{0}), functions.end());
  return functions;
}

memory::OwnString name_of(const c10::OperatorName& name) {
  memory::OwnString text(name.name);
  if (!name.overload_name.empty()) text.append(".").append(name.overload_name);
  return text;
}

}  // namespace

memory::OwnVector<AutocastKernel> autocast_kernels() {
  memory::OwnMap<std::uintptr_t, memory::OwnString> owner;  // "" = several operators
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto handle = dispatcher.findOp(name);
    if (!handle.has_value()) continue;
    const auto& entry = ((*handle).*member(OperatorDefOf{}))->op;
    for (c10::DispatchKey key : c10::autocast_dispatch_keyset) {
      if (!entry.hasKernelForDispatchKey(key)) continue;
      const c10::KernelFunction& kernel = entry.kernelForDispatchKey(key);
      if (!kernel.isValid() || kernel.isFallthrough()) continue;
      const memory::OwnString op = name_of(name);
      for (const std::uintptr_t function : functions_of(kernel)) {
        auto [at, fresh] = owner.try_emplace(function, op);
        if (!fresh && at->second != op) at->second.clear();
      }
    }
  }
  memory::OwnVector<AutocastKernel> kernels;
  for (auto& [function, op] : owner)
    if (!op.empty()) kernels.push_back({function, op});
  return kernels;
}

namespace {

c10::OperatorName name_from(std::string_view op) {
  const auto dot = op.find('.');
  return {std::string(op.substr(0, dot)), dot == std::string_view::npos ? "" : std::string(op.substr(dot + 1))};
}

}  // namespace

const void* kernel_in_force(std::string_view op, std::uint16_t dispatch_key) {
  const auto handle = c10::Dispatcher::singleton().findOp(name_from(op));
  const auto key = static_cast<c10::DispatchKey>(dispatch_key);
  if (!handle.has_value() || !handle->hasKernelForDispatchKey(key)) return nullptr;
  const auto& entry = ((*handle).*member(OperatorDefOf{}))->op;
  const c10::BoxedKernel& boxed = entry.kernelForDispatchKey(key).*member(BoxedOf{});
  return (boxed.*member(FunctorOf{})).get();
}

std::vector<std::string> argument_names(std::string_view op) {
  std::vector<std::string> names;
  const auto handle = c10::Dispatcher::singleton().findSchema(name_from(op));
  if (handle.has_value())
    for (const auto& argument : handle->schema().arguments()) names.push_back(argument.name());
  return names;
}

std::string operator_of_symbol(std::string_view name) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto exists = [&](std::string_view base, std::string_view overload) {
    return dispatcher.findSchema({"aten::" + std::string(base), std::string(overload)}).has_value();
  };
  if (exists(name, "")) return "aten::" + std::string(name);
  for (std::size_t at = name.find('_', 1); at != std::string_view::npos; at = name.find('_', at + 1))
    if (at + 1 < name.size() && exists(name.substr(0, at), name.substr(at + 1)))
      return "aten::" + std::string(name.substr(0, at)) + "." + std::string(name.substr(at + 1));
  return {};
}

bool sets_dtype_argument(std::string_view op) {
  const std::vector<std::string> names = argument_names(op);
  if (std::find(names.begin(), names.end(), "dtype") == names.end()) return false;
  const std::string base(op.substr(0, op.find('.')));
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name != base) continue;
    const auto handle = dispatcher.findOp(name);
    for (c10::DispatchKey key : c10::autocast_dispatch_keyset)
      if (handle.has_value() && handle->hasKernelForDispatchKey(key)) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------------------------
// RecordFunction

std::atomic<std::uint8_t> g_attention{0};

namespace {

constexpr std::size_t kMaxOpen = 64;     // nested operators followed per thread
constexpr std::size_t kMaxTensors = 48;  // tensors noted per operator, lists included

struct OpenOperator {
  char name[96];
  std::uint32_t n;
  std::array<const void*, kMaxTensors> tensors;
  std::array<std::uint32_t, kMaxTensors> positions;
};
struct OpenOperators {
  std::size_t depth;
  std::array<OpenOperator, kMaxOpen> open;
};
// Allocated at a thread's first recorded operator, freed with the thread. It is a plain pointer, which may be read to
// the thread's very end, and a key that frees it. It is not filled, so that unused parts take no memory.
thread_local OpenOperators* t_operators = nullptr;
pthread_key_t g_operators_key;

void thread_ends(void* operators) {
  t_operators = nullptr;
  delete static_cast<OpenOperators*>(operators);
}

OpenOperators* make_operators() {
  auto* operators = new (std::nothrow) OpenOperators;
  if (operators == nullptr) return nullptr;
  operators->depth = 0;
  pthread_setspecific(g_operators_key, operators);
  return t_operators = operators;
}

std::atomic<std::uint64_t> g_recorded{0}, g_record_until{kIdleOperators};
at::CallbackHandle g_operator_callback = 0, g_scope_callback = 0;
// Keeps flag and callback in step. Replaced in a forked child: the thread that held it may not exist there.
std::mutex* g_switch = new std::mutex;
bool g_stopped = false;

void switch_locked(bool on) {
  if (ask_for(kLearning, on) == on) return;
  if (on)
    at::reenableCallback(g_operator_callback);
  else
    at::disableCallback(g_operator_callback);
}

bool is_idle() { return g_recorded.load() > g_record_until.load(); }

[[gnu::cold, gnu::noinline]] void end_when_idle() {
  std::lock_guard lock(*g_switch);
  if (is_idle()) switch_locked(false);  // else somebody has asked for it meanwhile
}

UserScope g_user_scope_begin = nullptr, g_user_scope_end = nullptr;

void note(OpenOperator& o, const at::Tensor& tensor, std::uint32_t position) {
  if (!tensor.defined() || o.n == kMaxTensors) return;
  o.tensors[o.n] = tensor.unsafeGetTensorImpl();
  o.positions[o.n++] = position;
}

void note_argument(OpenOperator& o, const c10::IValue& value, std::uint32_t position) {
  if (value.isTensor()) {
    note(o, value.toTensor(), position);
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) note(o, tensor, position);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef())
      if (element.isTensor()) note(o, element.toTensor(), position);
  }
}

// Before 2.7 (overload_name) the name takes copies of its parts.
template <typename Call>
memory::OwnString name_of_call(const Call& fn) {
  if constexpr (requires { fn.overload_name(); }) {
    memory::OwnString text(fn.name());
    if (const std::string_view overload = fn.overload_name(); !overload.empty()) text.append(".").append(overload);
    return text;
  } else {
    const auto name = fn.operator_name();
    return name.has_value() ? name_of(*name) : memory::OwnString(fn.name());
  }
}

std::unique_ptr<at::ObserverContext> operator_begins(const at::RecordFunction& fn) {
  g_recorded.fetch_add(1, std::memory_order_relaxed);
  if (is_idle()) end_when_idle();
  if (t_operators == nullptr && make_operators() == nullptr) return nullptr;
  OpenOperators& s = *t_operators;
  if (s.depth++ >= kMaxOpen) return nullptr;
  OpenOperator& o = s.open[s.depth - 1];
  o.n = 0;
  const memory::OwnString text = name_of_call(fn);
  const std::size_t length = text.copy(o.name, sizeof o.name - 1);
  o.name[length] = 0;
  try {
    std::uint32_t position = 0;
    for (const c10::IValue& value : inputs_of(fn)) note_argument(o, value, position++);
  } catch (...) {
    o.n = 0;  // an operator whose arguments cannot be looked at teaches nothing
  }
  return nullptr;
}

void operator_ends(const at::RecordFunction&, at::ObserverContext*) {
  // Recording may have been switched on inside an operator, whose end then comes without a begin.
  if (t_operators != nullptr && t_operators->depth > 0) --t_operators->depth;
}

std::unique_ptr<at::ObserverContext> scope_begins(const at::RecordFunction& fn) {
  if (g_user_scope_begin != nullptr) g_user_scope_begin(fn.name());
  return nullptr;
}

void scope_ends(const at::RecordFunction& fn, at::ObserverContext*) {
  if (g_user_scope_end != nullptr) g_user_scope_end(fn.name());
}

}  // namespace

EnclosingOperator enclosing_operator(const void* tensor) {
  EnclosingOperator result;
  if (t_operators == nullptr || t_operators->depth == 0 || t_operators->depth > kMaxOpen) return result;
  const OpenOperator& o = t_operators->open[t_operators->depth - 1];
  result.op = o.name;
  for (std::uint32_t i = 0; i < o.n; ++i)
    if (o.tensors[i] == tensor &&
        std::find(result.positions.begin(), result.positions.end(), o.positions[i]) == result.positions.end())
      result.positions.push_back(o.positions[i]);
  return result;
}

bool add_record_callbacks(UserScope user_scope_begin, UserScope user_scope_end) {
  if (pthread_key_create(&g_operators_key, thread_ends) != 0) return false;
  g_user_scope_begin = user_scope_begin;
  g_user_scope_end = user_scope_end;
  g_operator_callback = at::addGlobalCallback(
      at::RecordFunctionCallback(operator_begins, operator_ends).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  ask_for(kLearning, true);
  g_scope_callback =
      at::addGlobalCallback(at::RecordFunctionCallback(scope_begins, scope_ends).scopes({at::RecordScope::USER_SCOPE}));
  return true;
}

void watch_operators() {
  g_record_until.store(g_recorded.load() + kIdleOperators);
  std::lock_guard lock(*g_switch);
  if (!g_stopped) switch_locked(true);
}

void stop_watching_operators() {
  std::lock_guard lock(*g_switch);
  g_stopped = true;
  switch_locked(false);
}

void listen_to_records(bool on) {
  std::lock_guard lock(*g_switch);
  if (!on) switch_locked(false);
  on ? at::reenableCallback(g_scope_callback) : at::disableCallback(g_scope_callback);
}

void watch_operators_in_child() { g_switch = new std::mutex; }

const char* compiled_torch_version() { return TORCH_VERSION; }

int torch_thread_count() { return at::get_num_threads(); }

// The setting that getCurrentCUDABlasHandle asks for (ATen/cuda/CublasHandlePool.cpp).
bool tf32_is_allowed() {
  const at::Context& context = at::globalContext();
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
  return context.float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL) == at::Float32Precision::TF32;
#elif TORCH_VERSION_MINOR == 9
  return context.float32Precision("cuda", "matmul") == "tf32";
#else
  return context.allowTF32CuBLAS();
#endif
}

}  // namespace castscope::agent
