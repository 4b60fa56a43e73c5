#include "agent/operators/inside_operator.h"

#include <dlfcn.h>
#include <unwind.h>

#include <cstdint>
#include <mutex>
#include <string_view>

#include "agent/memory/own_memory.h"

namespace castscope::operators {
namespace {

constexpr int kMostLevels = 256;

enum class Function : std::uint8_t { kOther, kOperator, kPython };

// dladdr reads all symbols of a library, which takes libtorch a millisecond, so each function is asked for once.
struct Functions {
  std::mutex mutex;
  memory::OwnMap<const void*, Function> known;
};
Functions* g_functions = new Functions;

Function look_up(void* start) {
  Dl_info info{};
  // dladdr names the nearest symbol below: right only when it stands at the function's first byte.
  if (dladdr(start, &info) == 0 || info.dli_saddr != start || info.dli_sname == nullptr) return Function::kOther;
  const std::string_view name = info.dli_sname;
  if (name.starts_with("_ZN2at4_ops")) return Function::kOperator;
  return name.starts_with("_PyEval_EvalFrame") ? Function::kPython : Function::kOther;
}

Function function_at(const void* address) {
  void* start = _Unwind_FindEnclosingFunction(const_cast<void*>(address));
  if (start == nullptr) return Function::kOther;
  std::lock_guard lock(g_functions->mutex);
  auto [at, fresh] = g_functions->known.try_emplace(start, Function::kOther);
  if (fresh) at->second = look_up(start);
  return at->second;
}

struct Walk {
  int levels = 0, operators = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const Function function = function_at(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
  walk.operators += function == Function::kOperator;
  // A line of code calls what Python calls.
  const bool enough = function == Function::kPython || walk.operators > 1 || ++walk.levels > kMostLevels;
  return enough ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

bool is_inside_another_operator() {
  Walk walk;
  _Unwind_Backtrace(visit, &walk);
  return walk.operators > 1;
}

void inside_operator_after_fork() { g_functions = new Functions; }

}  // namespace castscope::operators
